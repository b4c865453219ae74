"""Maven: `mvn test`, read from the reports that Surefire writes for each module. Ids are `package.Class.method`, as
Surefire names a test: `calc.CalcTest$Inner.adds`, `calc.CalcTest.many(int)[2]`.

Only reports that this run wrote count; those that stood there before stay where they are. Surefire chooses tests by
class and method: of a parameterised one all invocations run, and all of them are told.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from regreen.commands.programs import find_program
from regreen.model import SuiteStatus
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports import java, junit, maven_log
from regreen.testing.reports.java_runs import Kept, begin, java_environment
from regreen.testing.runners.row import CONFIGURED, Row, Sign
from regreen.testing.verdict import names

MAX_SELECTION = 100_000  # characters of `-Dtest`: an argument of Linux holds 128 KiB
_LOUD = ("-q", "--quiet")
_QUIET = re.compile(r"(?:^|\s)(?:-q|--quiet|-l|--log-file)(?=\s|=|$)")
_LIMITING = re.compile(
    r"-D(test=\S+|skipTests\b\S*|maven\.test\.skip\b\S*|"
    r"(?:surefire\.)?(?:excludes|includes|groups|excludedGroups)\w*=\S+)"
)
_SUREFIRE = re.compile(r"<artifactId>\s*maven-surefire-plugin\s*</artifactId>.*?</plugin>", re.S)
_LIMITS = re.compile(r"<(excludes|excludesFile|excludedGroups|groups|includes|test|skipTests|skip)>")


class Maven:
    """Plans and reads `mvn test`."""

    name = "maven"

    def plan(self, asked: Asked) -> Plan | Absent:
        environ, root = asked.request.settings.environ, asked.request.workspace.root
        if not asked.look.holds(("pom.xml", ".mvn/extensions.xml")) and not {"-f", "--file"} & set(asked.arguments):
            what = f"there is no pom.xml in {asked.look.folder or '.'}"
            next_step = "select the folder of the Maven project, or leave the runner to be found"
            return Absent(f"{what}: {next_step}", SuiteStatus.NO_TESTS)
        program = find_program("mvn", environ, root) or unpacked(asked.look, environ)
        if program is None:
            return Absent("Maven is not installed: there is no `mvn` on the PATH. Install it; a `mvnw` of the project "
                          "that has run once before will also do.")  # fmt: skip
        kept = begin(asked, _reports(asked.look))
        if isinstance(kept, Absent):
            return kept
        chosen, notes = _chosen(kept.choice)
        chosen += () if {"-pl", "--projects"} & set(asked.arguments) else _modules(kept, asked.look)
        offline = () if asked.request.settings.network else ("-o",)
        arguments = tuple(a for a in asked.arguments if a not in (*_LOUD, "test", "-o", "--offline"))
        argv = (str(program), "-B", *offline, "-fae", "-DtrimStackTrace=false", *chosen, *arguments, "test")
        notes = (*notes, *(_left_out(asked.look) if kept.choice.everything else ()))
        return Plan(argv, str(program), env=java_environment(asked), notes=notes, data=kept)

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        kept: Kept = plan.data
        reports, heard = kept.read(asked)
        if ended.completed.returncode == 0:
            return self._succeeded(asked, ended, kept, reports, heard)
        text = maven_log.last_words(ended.log)
        why = maven_log.broken(text, asked.folder)
        last = maven_log.last_begun(text)
        if not why.spoke and not why.missing:
            return replace(heard, finished=False, running=(last,) if last else ())
        red = any(c.outcome in ("failed", "error") for c in heard.cases)
        unmatched = () if red or why.errors or why.crashed else kept.choice.unmatched(reports.cases)
        crashed = why.crashed or (why.tests_failed and not red and not unmatched)
        skipped = (f"not run, since an earlier module failed: {', '.join(why.skipped)}",) if why.skipped else ()
        return replace(
            heard,
            errors=(*heard.errors, *why.errors),
            finished=not crashed and not reports.problems,
            running=why.crashed_in or ((last,) if crashed and last else ()),
            missing=_to_type(why.missing) if why.missing else "",
            unmatched=unmatched,
            notes=(*heard.notes, *skipped),
        )

    def _succeeded(
        self, asked: Asked, ended: Ended, kept: Kept, reports: junit.Reports, heard: Heard
    ) -> Heard:  # fmt: skip
        """Exit status 0. A project that ignores failures hides with them that its tests crashed; and tests that run
        in Maven's own process can end it."""
        text = maven_log.last_words(ended.log)
        if not maven_log.succeeded(text) and not _QUIET.search(asked.look.text(".mvn/maven.config")):
            last = maven_log.last_begun(text)
            where = f" while {last} ran" if last else ""
            how = f"Maven ended with exit status 0 before its build was done{where} (System.exit in a test?)"
            return replace(heard, crash=how, running=(last,) if last else ())
        ignoring = any("ailure.ignore" in t or "FailureIgnore" in t for t in map(asked.look.text, _poms(asked.look)))
        crashed = ignoring and maven_log.crash_told(text)
        return replace(
            heard, finished=not crashed and not reports.problems, unmatched=kept.choice.unmatched(reports.cases)
        )


def unpacked(look: Look, environ: Mapping[str, str]) -> Path | None:
    """The Maven that the project's wrapper has downloaded before, if it has."""
    url = re.search(r"^\s*distributionUrl\s*=\s*(\S+)", look.text(".mvn/wrapper/maven-wrapper.properties"), re.M)
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if not url or not home:
        return None
    name = re.sub(r"\.(?:zip|tar\.gz)$", "", url[1].rpartition("/")[2])
    dists = Path(home) / ".m2" / "wrapper" / "dists"
    folders = (dists / name, dists / name.removesuffix("-bin"))
    found = [p for f in folders for p in (*sorted(f.glob("*/bin/mvn")), *sorted(f.glob("*/*/bin/mvn")))]
    return next((p for p in found if p.is_file()), None)


def _chosen(choice: java.Choice) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The arguments that choose the tests; and what there is to note about it."""
    if choice.everything:
        return (), ()
    wanted: dict[str, dict[str, None]] = {}
    for target in choice.targets:
        for owner in (target.owner, f"{target.owner}$*") if target.inner or not target.method else (target.owner,):
            methods = wanted.setdefault(owner, {})
            methods[_method_pattern(target) if target.method else ""] = None
    pattern = ",".join(o if "" in methods else f"{o}#{'+'.join(methods)}" for o, methods in wanted.items())
    notes = ["Surefire runs all invocations of a parameterised test"] if any(t.exact for t in choice.targets) else []
    if len(pattern) > MAX_SELECTION:
        pattern = ",".join(wanted)
        notes.append("so many tests were selected that their whole classes are run")
    if len(pattern) > MAX_SELECTION:
        return (), (*notes, "so many classes were selected that all tests are run")
    no_match = ("-Dsurefire.failIfNoSpecifiedTests=false", "-DfailIfNoTests=false")
    return (f"-Dtest={pattern}", *no_match), tuple(notes)


def _left_out(look: Look) -> tuple[str, ...]:
    """A note of settings that keep tests from running."""
    found = {f".mvn/maven.config: {m}" for m in _LIMITING.findall(look.text(".mvn/maven.config"))}
    for pom in _poms(look):
        for plugin in _SUREFIRE.findall(look.text(pom)):
            found |= {f"{pom}: <{name}> of Surefire" for name in _LIMITS.findall(plugin)}
    return (f"settings limit which tests run: {names(sorted(found))}",) if found else ()


def _modules(kept: Kept, look: Look) -> tuple[str, ...]:
    """The arguments that build no other modules than those of the tests need."""
    folders = {p.removesuffix("pom.xml").removesuffix("/") for p in _poms(look)}
    wanted: dict[str, None] = {}
    for target in kept.choice.targets:
        above = [str(p) for p in PurePosixPath(kept.sources.of_class(target.owner)).parents]
        module = next((p for p in above if p in folders), "")
        if not module:
            return ()
        wanted[module] = None
    return ("-pl", ",".join(wanted), "-am") if wanted else ()


def _method_pattern(target: java.Target) -> str:
    """A method as Surefire's patterns name it. A number in brackets right behind the name is JUnit 4's, which is part
    of the name there."""
    pattern = re.sub(r"[^\w$]", "?", target.method)
    return f"{pattern}*" if target.exact.partition(f".{target.method}")[2].startswith("[") else pattern


def _poms(look: Look) -> Sequence[str]:
    return ("pom.xml", *(p for p in look.below() if p.endswith("/pom.xml")))


def _reports(look: Look) -> tuple[str, ...]:
    """Where the reports of the modules appear."""
    if any("<reportsDirectory>" in t or "<directory>" in t for t in map(look.text, _poms(look))):
        return ("**/TEST-*.xml",)
    return tuple(p.removesuffix("pom.xml") + "target/surefire-reports/TEST-*.xml" for p in dict.fromkeys(_poms(look)))


def _to_type(missing: str) -> str:
    return f"{missing}. Fetch what is missing once with `mvn dependency:go-offline test-compile`, or choose a JDK " \
           "that fits the project."  # fmt: skip


def _detect(look: Look) -> Sign | None:
    """A module is built from the project that lists it, which also builds what the module needs."""
    if not look.exists("pom.xml") or _is_module(look):
        return None
    return Sign(CONFIGURED, f"{look.at('pom.xml')} is a Maven project")


def _is_module(look: Look) -> bool:
    folder = PurePosixPath(look.folder)
    for above in folder.parents if look.folder else ():
        pom = Look(look.workspace, "" if str(above) == "." else str(above)).text("pom.xml")
        for module in re.findall(r"<module>\s*([^<]+?)\s*</module>", pom):
            if PurePosixPath(posixpath.normpath(above / module.removesuffix("/pom.xml"))) == folder:
                return True
    return False


ROW = Row(
    name="maven",
    language="Java",
    marks=("pom.xml",),
    suffixes=java.SUFFIXES,
    detect=_detect,
    run=reported(Maven()),
)
