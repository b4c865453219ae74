"""RSpec, for real where it is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.cases import sample
from support.suites import project, run_tests, settings_with, timed_out_at

from regreen.model import SuiteStatus

needs_rspec = pytest.mark.skipif(not shutil.which("rspec"), reason="rspec is not installed (Debian: ruby-rspec)")

_LIB = """class Calc
  def self.add(a, b)
    raise ArgumentError, "seven" if a == 7
    a + b
  end
end
"""
_GREEN = """require_relative '../lib/calc'
RSpec.describe Calc do
  it "adds two numbers" do
    puts "1 example, 1 failure"
    expect(Calc.add(1, 2)).to eq 3
  end
  it("größer als \\"null\\"") { expect(Calc.add(1, 2)).to be > 0 }
  [1, 2].each { |n| it("counts #{n}") { expect(n).to be > 0 } }
end
"""
_RED = """require_relative '../lib/calc'
RSpec.describe Calc, "#add" do
  it("is wrong") { expect(Calc.add(1, 2)).to eq 4 }
  it "is deep" do
    Calc.add(7, 1)
  end
  it("is twice") { expect(1).to eq 1 }
  it("is twice") { expect(1).to eq 2 }
  it("is not there yet")
  xit("is switched off") { raise "no" }
  pending("is known to fail") { expect(1).to eq 2 }
  pending("is mended") { expect(1).to eq 1 }
  it { expect(Calc.add(1, 1)).to eq 2 }
end
"""
_FILES = {"lib/calc.rb": _LIB, "spec/green_spec.rb": _GREEN, "spec/red_spec.rb": _RED}


@needs_rspec
def test_green_and_red_examples_are_told_with_their_places(tmp_path: Path) -> None:
    report = run_tests(project(tmp_path, _FILES))
    assert (report.status, report.runner) == (SuiteStatus.FAILED, "rspec")
    assert dict(report.outcomes) == {
        "Calc adds two numbers": "passed",
        'Calc größer als "null"': "passed",
        "Calc counts 1": "passed",
        "Calc counts 2": "passed",
        "Calc#add is wrong": "failed",
        "Calc#add is deep": "failed",
        "Calc#add is twice": "failed",
        "Calc#add is not there yet": "skipped",
        "Calc#add is switched off": "skipped",
        "Calc#add is known to fail": "xfailed",
        "Calc#add is mended": "failed",
        "Calc#add (spec/red_spec.rb:13)": "passed",
    }
    failures = {f.id: f for f in report.failures}
    wrong, deep = failures["Calc#add is wrong"], failures["Calc#add is deep"]
    assert (wrong.file, wrong.line) == ("spec/red_spec.rb", 3)
    assert "expected: 4" in wrong.excerpt
    assert (deep.file, deep.line, deep.kind, deep.message) == ("lib/calc.rb", 3, "ArgumentError", "seven")
    assert any("several tests share a name" in n for n in report.notes)


@needs_rspec
def test_ids_titles_files_folders_and_places_select(tmp_path: Path) -> None:
    root = project(tmp_path, {**_FILES, "spec/sub/more_spec.rb": 'RSpec.describe("More") { it("is") { } }'})
    for selection, ran in (
        (['Calc größer als "null"', "Calc#add (spec/red_spec.rb:13)", "counts 2"], 3),
        (["spec/green_spec.rb"], 4),
        (["spec/sub", "Calc counts 1"], 2),
        (["spec/green_spec.rb:3", "./spec/green_spec.rb[1:2]"], 2),
    ):
        report = run_tests(root, selection=selection)
        assert (report.status, report.counts.total) == (SuiteStatus.PASSED, ran), (selection, report.message)
    again = run_tests(root, last_failed=["Calc#add is wrong"])
    assert dict(again.outcomes) == {"Calc#add is wrong": "failed"}
    command = run_tests(root, argv=["rspec", "-e", "counts", "spec/green_spec.rb"])
    assert set(command.outcomes) == {"Calc counts 1", "Calc counts 2"}


@needs_rspec
def test_what_matches_nothing_or_several_is_named(tmp_path: Path) -> None:
    everything = "RSpec.configure { |c| c.run_all_when_everything_filtered = true; c.filter_run_including :focus }\n"
    root = project(tmp_path, {**_FILES, "spec/green_spec.rb": everything + _GREEN})
    none = run_tests(root, selection=["is gone"], runner="rspec")
    assert (none.status, none.counts.total) == (SuiteStatus.NO_TESTS, 0)
    assert "is gone" in none.message
    several = run_tests(root, selection=["is twice"], runner="rspec")
    assert several.status is SuiteStatus.NO_TESTS
    assert "several: Calc#add is twice" in several.message
    dry = run_tests(root, argv=["rspec", "--dry-run"])
    assert dry.status is SuiteStatus.NO_TESTS


@needs_rspec
@pytest.mark.parametrize("end", sample(["exit!(0)", "exit(0)", "abort('bye')", "Process.kill(:KILL, $$)"], 3))
def test_an_example_that_ends_the_process_is_a_crash(tmp_path: Path, end: str) -> None:
    files = {"spec/a_spec.rb": f'RSpec.describe("A") {{ it("ok") {{ }}; it("quits") {{ {end} }}; it("late") {{ }} }}'}
    report = run_tests(project(tmp_path, files))
    assert report.status is SuiteStatus.CRASHED, report
    assert "A quits" in report.message
    assert report.outcomes == {"A ok": "passed"}


@needs_rspec
def test_a_library_that_is_not_there_is_shown_where_the_spec_wants_it(tmp_path: Path) -> None:
    report = run_tests(project(tmp_path, {"spec/a_spec.rb": '\nrequire "no_such_library"\nRSpec.describe("A") { }\n'}))
    assert report.status is SuiteStatus.ENVIRONMENT, report
    failure = report.failures[0]
    assert (failure.id, failure.file, failure.line) == ("spec/a_spec.rb", "spec/a_spec.rb", 2)
    assert "<internal" not in failure.excerpt


@needs_rspec
def test_leaving_in_a_hook_or_while_loading_is_a_crash(tmp_path: Path) -> None:
    hook = 'RSpec.describe("A") { before(:context) { exit(0) }; it("ok") { } }'
    assert run_tests(project(tmp_path / "1", {"spec/a_spec.rb": hook})).status is SuiteStatus.CRASHED
    assert run_tests(project(tmp_path / "2", {"spec/a_spec.rb": "exit!(0)"})).status is SuiteStatus.CRASHED


@needs_rspec
def test_a_spec_that_cannot_be_loaded_is_an_error_at_its_place(tmp_path: Path) -> None:
    files = {"spec/bad_spec.rb": 'RSpec.describe("A") {\n  it("x") do\n}\n', "spec/sad_spec.rb": "\nGone.new\n"}
    report = run_tests(project(tmp_path, {**files, "spec/good_spec.rb": 'RSpec.describe("G") { it("x") { } }'}))
    assert report.status is SuiteStatus.ERROR, report.message
    failures = {f.id: f for f in report.failures}
    assert set(failures) == set(files)
    assert "syntax error" in failures["spec/bad_spec.rb"].excerpt
    assert (failures["spec/sad_spec.rb"].file, failures["spec/sad_spec.rb"].line) == ("spec/sad_spec.rb", 2)
    assert "uninitialized constant Gone" in failures["spec/sad_spec.rb"].message


@needs_rspec
def test_a_missing_library_is_the_environments_and_a_missing_file_of_the_project_is_not(tmp_path: Path) -> None:
    absent = run_tests(project(tmp_path / "1", {"spec/a_spec.rb": "require 'no_such_gem'\n"}))
    assert absent.status is SuiteStatus.ENVIRONMENT
    assert "no_such_gem" in absent.message
    own = {"lib/calc.rb": _LIB, "spec/a_spec.rb": "require 'calc/gone'\n"}
    assert run_tests(project(tmp_path / "2", own)).status is SuiteStatus.ERROR


@needs_rspec
def test_a_hook_around_a_group_that_fails_is_an_error_although_all_examples_passed(tmp_path: Path) -> None:
    files = {"spec/a_spec.rb": 'RSpec.describe("A") { after(:context) { raise "late" }; it("ok") { } }'}
    report = run_tests(project(tmp_path, files))
    assert report.status is SuiteStatus.ERROR
    assert report.outcomes["A ok"] == "passed"
    assert report.failures[0].message.endswith("late")


@needs_rspec
def test_no_examples_and_a_child_of_a_test_that_goes_on(tmp_path: Path) -> None:
    empty = run_tests(project(tmp_path / "1", {".rspec": "", "spec/a_spec.rb": ""}))
    assert empty.status is SuiteStatus.NO_TESTS
    forks = 'RSpec.describe("A") { it("forks") { fork; Process.waitall }; it("next") { expect(1).to eq 1 } }'
    report = run_tests(project(tmp_path / "2", {"spec/a_spec.rb": forks}))
    assert (report.status, report.counts.total) == (SuiteStatus.PASSED, 2)


@needs_rspec
def test_a_hanging_example_is_ended_and_named(tmp_path: Path) -> None:
    files = {
        "spec/a_spec.rb": 'RSpec.describe("A") { it("hangs") { Queue.new.pop; loop { } } }\nThread.new { loop { } }'
    }
    root = project(tmp_path, files)
    report = timed_out_at("A hangs", lambda limit: run_tests(root, timeout_s=limit))
    assert report.status is SuiteStatus.TIMEOUT
    assert "A hangs" in report.message


@needs_rspec
def test_hundreds_of_failures_and_much_output_keep_their_verdict(tmp_path: Path) -> None:
    spec = """RSpec.describe("Many") do
  300.times { |n| it("fails #{n}") { expect(n).to eq(-1) } }
  it("is loud") { 20_000.times { |n| puts "line #{n}" } }
end
"""
    report = run_tests(project(tmp_path, {"spec/many_spec.rb": spec}))
    assert (report.status, report.counts.failed, report.counts.passed) == (SuiteStatus.FAILED, 300, 1)
    assert len(report.groups) == 1


@needs_rspec
def test_what_a_test_writes_about_itself_counts_for_nothing(tmp_path: Path) -> None:
    spec = """RSpec.describe("A") do
  it("lies") do
    (3..30).each do |n|
      IO.for_fd(n, "wb", autoclose: false).write(%({"n":"","k":"end","id":"A lies","outcome":"passed"}\\n))
    rescue StandardError
      nil
    end
    expect(ENV["REGREEN_CHANNEL"]).to be_nil
    puts "1 example, 0 failures"
    raise "red"
  end
end
"""
    report = run_tests(project(tmp_path, {"spec/a_spec.rb": spec}))
    assert (report.status, dict(report.outcomes)) == (SuiteStatus.FAILED, {"A lies": "failed"})


@needs_rspec
def test_a_project_in_a_folder_keeps_its_own_ids(tmp_path: Path) -> None:
    root = project(
        tmp_path, {f"ruby/{name}": text for name, text in _FILES.items()} | {"ruby/.rspec": "--format html\n"}
    )
    report = run_tests(root, selection=["ruby/spec/green_spec.rb"])
    assert (report.status, report.project) == (SuiteStatus.PASSED, "ruby")
    assert "ruby/Calc counts 1" in report.outcomes


def test_a_missing_rspec_or_bundler_is_named(tmp_path: Path) -> None:
    bare = settings_with(tmp_path, {"PATH": str(tmp_path)})
    report = run_tests(project(tmp_path, {"spec/a_spec.rb": ""}), bare)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "gem install rspec" in report.message
    bundled = run_tests(project(tmp_path, {"Gemfile": "gem 'rspec'\n"}), bare)
    assert bundled.status is SuiteStatus.ENVIRONMENT
    assert "bundle install" in bundled.message


@pytest.mark.skipif(not shutil.which("bundle"), reason="Bundler is not installed")
def test_gems_that_are_not_installed_are_the_environments(tmp_path: Path) -> None:
    gemfile = "source 'https://rubygems.org'\ngem 'rspec'\ngem 'no_such_gem_at_all'\n"
    lock = "GEM\n  remote: https://rubygems.org/\n  specs:\n    no_such_gem_at_all (1.0)\n    rspec (3.0.0)\n\n" \
        "PLATFORMS\n  ruby\n\nDEPENDENCIES\n  no_such_gem_at_all\n  rspec\n"  # fmt: skip
    report = run_tests(project(tmp_path, {**_FILES, "Gemfile": gemfile, "Gemfile.lock": lock}))
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "bundle install" in report.message
