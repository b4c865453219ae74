#!/bin/sh
# The engine's tests on the newest other Python of this machine, in an environment of its own inside the main one.
# Quick: whole fix runs, those of other languages' runners, of faults and limits of the system, and the corpora run on
# the main Python only.
set -eu
venv=$1
jobs=$2
have=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if ! python=$(sh scripts/find_python.sh --newest-but "$have"); then
    echo "SKIPPED: tests/coding on another Python: none but $have was found (python3.N, pyenv versions)"
    exit 0
fi
other=$venv/other
stamp=$other/.installed
if [ ! -e "$stamp" ] || [ "$(cat "$stamp")" != "$python" ] || [ requirements.lock -nt "$stamp" ] || [ pyproject.toml -nt "$stamp" ]; then
    [ "$(cat "$stamp" 2>/dev/null)" = "$python" ] || rm -rf "$other"
    sh scripts/make_venv.sh "$other" "$python"
    echo "$python" >"$stamp"
fi
echo "tests/coding (quick) on $("$other/bin/python" --version)"
# shellcheck disable=SC2086
exec "$other/bin/python" -m pytest -q -n "$jobs" --dist worksteal tests/coding $(printf -- '--ignore-glob=tests/coding/%s ' \
    'test_runner_*' test_attacks.py test_attacks_commands.py test_attacks_running.py test_edits_faults.py \
    test_attacks_git.py test_coding_task.py test_fix_adversarial.py test_fix_cheats.py test_fix_corpus.py test_fix_crash_fuzz.py \
    test_fix_flaky.py test_fix_git_shapes.py test_fix_honesty.py test_fix_merging.py test_fix_run.py test_fix_scoping.py \
    test_fix_users_edits.py test_fix_worktrees.py test_gates.py 'test_jobs_*' test_journal_crash.py test_locking.py \
    test_fix_steps.py test_recording.py test_replay_copies.py test_snapshots_known.py test_session.py \
    test_testing_corpus.py test_fix_second_run.py test_fix_borrowing.py test_search_reliance.py test_tamper_corpus.py \
    test_extract_hostile.py test_sandbox_levels.py test_testing_cpu.py test_testing_interpreter.py \
    test_testing_monorepo.py test_edits_secrets.py test_full_disk.py test_model_proposer.py \
    test_provider_hostile_servers.py test_agent_mcp_tools.py) -k "not known_bug"
