#!/bin/sh
# The engine's tests, and some of the doors', on the newest other Python of this machine, in an environment of its own inside the main one.
# Quick: whole fix runs, other languages' runners, processes, faults and limits of the system are for the main one.
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
# What runs on the main Python only, with REGREEN_ALL_CASES here too.
left_out="test_attacks* test_fix_* test_runner_* test_jobs_* test_journal_* test_snapshots_* test_index_* test_search* \
    test_session* test_coding_task* test_recording* test_replay_* test_tamper_corpus* test_testing_c* test_testing_i* \
    test_testing_m* test_extract_hostile* test_edits_faults* test_edits_secrets* test_full_disk* test_gates* \
    test_huge_answers* test_locking* test_mailbox* test_sandbox_levels* test_warm_server* test_agent_over_http* test_agent_mcp_tools* \
    test_model_proposer* test_provider_hostile_servers* test_understanding* test_watching* test_webhooks*"
[ -z "${REGREEN_ALL_CASES:-}" ] || left_out=
set -f  # the patterns are pytest's to match
# shellcheck disable=SC2086
exec "$other/bin/python" -m pytest -q -n "$jobs" --dist worksteal tests/coding tests/server/test_front.py \
    tests/server/test_mcp_protocol.py tests/server/http/test_guard.py tests/editor_bridge/test_jsonc.py \
    $([ -z "$left_out" ] || printf -- '--ignore-glob=tests/coding/%s ' $left_out)
