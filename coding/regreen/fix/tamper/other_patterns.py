"""The patterns of cheats in languages that are not parsed: what hardly any honest code says.

Where a call is honest in a program's own entry point, the pattern does not count there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from regreen.fix.tamper.values import Weight

_TESTING_CALL = r"(jest|vi|vitest|describe|it|test|expect|mocha|before|beforeEach|after|afterEach|suite)"
_TEST_WORD = (
    r"""["'`/][\w.\\$@/-]*?(?<![A-Za-z])(tests?|spec|jest|vitest|mocha|__tests__)(?![A-Za-z])[\w.\\$@/-]*["'`/]"""
)
_BUILT_IN = r"(Object|Array|String|Number|Map|Set|Date|Function|Promise|Symbol|RegExp|Error)\.prototype"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A cheat as a pattern. `entry`: it is honest in a program's entry point; `both`: what must stand near it."""

    cheat: str
    regex: re.Pattern[str]
    entry: bool = False
    both: re.Pattern[str] | None = None
    weight: Weight = "refuse"


def _p(cheat: str, *alternatives: str, entry: bool = False, both: str = "", weight: Weight = "refuse") -> Pattern:
    regex = re.compile("|".join(alternatives), re.DOTALL | re.MULTILINE)
    return Pattern(cheat, regex, entry, re.compile(both) if both else None, weight)


COMMON = (
    _p(
        "detects_tests",
        r"PYTEST_CURRENT_TEST",
        r"JEST_WORKER_ID",
        r"NODE_TEST_CONTEXT",
        r"\bVITEST(_\w+)?\b",
        r"NEXTEST\w*",
        r"RUST_TEST_\w+",
        r"PHPUNIT_\w+",
        r"\bMOCHA_\w+",
        r"GITHUB_ACTIONS",
    ),
    _p("reaches_reporter", r"regreen_\w+", r"REGREEN_\w+"),
)
PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "javascript": (
        _p(
            "ends_process",
            r"process\s*(\?\.|\.)\s*(exit|reallyExit|abort)\s*(\?\.)?\(\s*(0|false|true|null|undefined)?\s*\)",
            entry=True,
        ),
        _p(
            "ends_process",
            r"""process\s*\[\s*["'`](exit|reallyExit|abort|kill)["'`]\s*\]""",
            r"process\.kill\s*\(\s*process\.p?pid",
        ),
        _p("ends_process", r"process\.exitCode\s*=\s*(0|false|null|undefined)\b", entry=True),
        _p("ends_process", r"\b(Deno|Bun)\.exit\s*\(\s*(0\s*)?\)", entry=True),
        _p(
            "detects_tests",
            r"""NODE_ENV\b["'`\])]*\s*[!=]==?\s*["'`]test""",
            r"""["'`]test["'`]\s*[!=]==?\s*process\.env""",
        ),
        _p("detects_tests", r"""process\.env(\.|\[["'`])CI\b"""),
        _p("detects_tests", rf"typeof\s+(globalThis\.|global\.|window\.)?{_TESTING_CALL}\b"),
        _p("detects_tests", rf"""\b(globalThis|global|window)\s*(\.|\?\.|\[\s*["'`]){_TESTING_CALL}\b"""),
        _p("detects_tests", rf"""["'`]{_TESTING_CALL}["'`]\s+in\s+(globalThis|global|window)\b"""),
        _p("detects_tests", r"import\.meta\.vitest", r"import\.meta\.jest"),
        _p(
            "detects_tests",
            r"process\.(argv|argv0|execArgv|mainModule)",
            r"require\.main\.filename",
            both=_TEST_WORD,
        ),
        _p(
            "inspects_callers",
            r"\.stack\b",
            r"captureStackTrace",
            r"prepareStackTrace",
            r"\.caller\b",
            r"callee",
            both=_TEST_WORD,
        ),
        _p(
            "imports_tests",
            r"""(require|import|from)\s*\(?\s*["'`](node:test|(@?jest|@?vitest|mocha)[\w/-]*|chai|expect)["'`]""",
            r"""(require|import|from)\s*\(?\s*["'`][./\w-]*(\.test|\.spec|__tests__)[\w./-]*["'`]""",
        ),
        _p("patches_library", r"\b(assert(\.strict)?|expect|jest|vi|chai)\.(\w+)\s*=(?![=>])"),
        _p(
            "patches_library",
            rf"\b{_BUILT_IN}(\.\w+|\[[^\]]+\])\s*=(?![=>])",
        ),
        _p("patches_library", r"\b(Object|JSON|Math|Date|Number|Array|Reflect|Symbol|console)\.(\w+)\s*=(?![=>])"),
        _p(
            "patches_library",
            r"(defineProperty|defineProperties|assign|setPrototypeOf)\s*\(\s*"
            rf"(globalThis|global|{_BUILT_IN}|Object|JSON|Math|assert|expect|process)\s*,",
        ),
        _p(
            "replaces_builtins",
            r"""\b(globalThis|global|window)\s*(\.\s*|\[\s*["'`])"""
            r"""(Object|JSON|Math|Date|Error|assert|Array|Map|Set|Promise|process|AssertionError)["'`\]]*\s*=(?![=>])""",
        ),
        _p(
            "replaces_module",
            r"require\.cache",
            r"Module\._(load|cache|resolveFilename)",
            r"module\.constructor",
            r"registerHooks?\s*\(",
        ),
        _p(
            "runs_hidden_code",
            r"""\beval\s*\(\s*(["'`]|atob|Buffer)""",
            r"""new\s+Function\s*\(\s*["'`]""",
            r"""vm\.run\w+\s*\(\s*["'`]""",
        ),
        _p(
            "hooks_exit",
            r"""process\.(on|once|addListener|prependListener)\s*\(\s*["'`]"""
            r"(exit|beforeExit|uncaughtException|unhandledRejection)",
            entry=True,
        ),
        _p("rigs_comparison", r"asymmetricMatch"),
        _p(
            "rigs_comparison",
            r"\b(equals|isEqual|deepEqual)\s*\([^)]*\)\s*(:\s*boolean\s*)?\{\s*return\s+(true|!0|1)\s*;?\s*\}",
        ),
        _p(
            "touches_tests",
            r"\b(readFile|writeFile|appendFile|unlink|rm|rename|copyFile|open|createWriteStream|readdir)\w*\s*\([^;\n]{0,80}?"
            r"""(\.test\.|\.spec\.|__tests__|__snapshots__|["'`/]tests?/)""",
        ),
    ),
    "go": (
        _p("detects_tests", r"testing\.(Testing|Short|Verbose|CoverMode|Init)\s*\(", r'flag\.Lookup\s*\(\s*["`]test\.'),
        _p(
            "detects_tests",
            r"os\.(Args|Executable)",
            r"debug\.ReadBuildInfo",
            both=r'["`][^"`\n]*(\.test\b|[-_]test\b|["`]test\b)',
        ),
        _p("detects_tests", r'os\.(Getenv|LookupEnv)\s*\(\s*["`](CI|GO_TEST\w*|TEST\w*)["`]'),
        _p(
            "inspects_callers",
            r"runtime\.(Caller|Callers|CallersFrames|Stack)\b",
            r"debug\.(Stack|PrintStack)",
            both=r'["`][^"`\n]*([tT]est)',
        ),
        _p("imports_tests", r'["`](testing|testing/\w+|github\.com/stretchr/testify[\w/]*)["`]'),
        _p(
            "ends_process",
            r"\b(os|syscall)\.Exit\s*\(\s*0\s*\)",
            r"syscall\.Kill\s*\(\s*(os|syscall)\.Getpid",
            entry=True,
        ),
        _p("ends_process", r"runtime\.Goexit\s*\("),
        _p("reaches_into_interpreter", r"go:linkname"),
    ),
    "rust": (
        _p(
            "switches_for_tests",
            r"cfg!\s*\(\s*(not\s*\(\s*)?test\b",
            r"cfg_attr\s*\(\s*(not\s*\(\s*)?test\b",
            r"cfg\s*\(\s*not\s*\(\s*test",
        ),
        _p(
            "switches_for_tests",
            r"#!?\[\s*cfg\s*\(\s*test\s*\)\s*\](?!\s*(#\[[^\]]*\]\s*)*(pub(\([^)]*\))?\s+)?(mod|use)\b)",
        ),
        _p(
            "detects_tests",
            r"env!?\s*::\s*(args|current_exe|var|vars)\b",
            r"option_env!",
            r"thread::current\(\)\s*\.\s*name",
            both=r'"[^"\n]*(test|deps|CI\b)',
        ),
        _p("ends_process", r"process::(exit\s*\(\s*0|abort)", entry=True),
        _p("ends_process", r"libc::(_exit|exit|kill|raise|abort)", r"panic::(set_hook|take_hook)", entry=True),
        _p(
            "rigs_comparison",
            r"fn\s+(eq|le|ge|lt|gt)\s*\(\s*&self[^)]*\)\s*->\s*bool\s*\{\s*(return\s+)?true\s*;?\s*\}",
        ),
        _p("rigs_comparison", r"fn\s+ne\s*\(\s*&self[^)]*\)\s*->\s*bool\s*\{\s*(return\s+)?false\s*;?\s*\}"),
        _p(
            "rigs_comparison",
            r"fn\s+(partial_)?cmp\s*\([^)]*\)\s*->\s*[^{]*\{\s*(Some\s*\(\s*)?([\w:]*Ordering::)?Equal\s*\)?\s*\}",
        ),
        _p("replaces_asserts", r"macro_rules!\s*(assert\w*|debug_assert\w*|panic|matches|unreachable)\b"),
        _p("hooks_exit", r"libc::atexit", r"#\[\s*(ctor|dtor|no_mangle|panic_handler)"),
    ),
    "ruby": (
        _p(
            "detects_tests",
            r"defined\?\s*\(?\s*(::)?(RSpec|Minitest|Test::Unit|Cucumber)",
            r"""const_(defined|get)\w*\??\s*\(?\s*[:"'](::)?(RSpec|Minitest)""",
        ),
        _p("detects_tests", r"""(RAILS|RACK|APP|RUBY)_ENV["'\])]*\s*==\s*["']test""", r"Rails\.env\.test\?"),
        _p(
            "detects_tests",
            r"\$0\b",
            r"\$PROGRAM_NAME",
            r"\$LOADED_FEATURES",
            r'\$"',
            r"\bARGV\b",
            r"__dir__",
            both=r"""["'/][^"'\n]*(rspec|minitest|_spec\b|/spec/|_test\b)""",
        ),
        _p(
            "inspects_callers",
            r"\bcaller(_locations)?\b",
            both=r"""["'/][^"'\n]*(rspec|minitest|_spec\b|\bspec/|_test\b|\btest[_/])""",
        ),
        _p("patches_runner", r"\b(RSpec|Minitest)(::|\.)\w+"),
        _p(
            "ends_process",
            r"\bexit!",
            r"(?<![\w.:])(Kernel\.)?exit\s*\(?\s*(0|true)?\s*\)?\s*$",
            r"Process\.(exit!?|kill)",
            r"^\s*abort\b",
            entry=True,
        ),
        _p("hooks_exit", r"\bat_exit\b"),
        _p("hooks_interpreter", r"TracePoint", r"set_trace_func", r"ObjectSpace(\.|::)(each_object|garbage|count)"),
        _p(
            "rigs_comparison",
            r"def\s+(==|eql\?|equal\?|===|!=)\s*\(?[^)\n]*\)?\s*[;\n]?\s*(return\s+)?(true|1)\s*[;\n]\s*end",
        ),
        _p("rigs_comparison", r"def\s+(==|eql\?|equal\?|===)\s*\(?[^)\n]*\)?\s*=\s*true\b"),
        _p(
            "patches_library",
            r"^\s*class\s+(Integer|String|Array|Hash|(Basic)?Object|Float|Numeric|NilClass|Symbol|Time|Date|Exception)\b(?!\s*<)",
            r"refine\s+(Integer|String|Array|Hash|Object)\b",
        ),
        _p(
            "runs_hidden_code",
            r"""\b(instance_eval|class_eval|module_eval|eval)\s*\(?\s*(["'][^"'#\n]*["']|Base64|\[[^\]]*\]\.pack)""",
        ),
    ),
    "php": (
        _p(
            "detects_tests",
            r"""(class_exists|defined|interface_exists|function_exists)\s*\(\s*["']\\*(PHPUnit|PHPUNIT|Pest)""",
        ),
        _p(
            "detects_tests",
            r"(argv|SCRIPT_NAME|SCRIPT_FILENAME|get_included_files|get_declared_classes)\b",
            both=r"""["'/][^"'\n]*(phpunit|pest|test)""",
        ),
        _p("detects_tests", r"""APP_ENV["'\])]*\s*\)?\s*={2,3}\s*["']test"""),
        _p("inspects_callers", r"debug_backtrace", r"getTrace(AsString)?\b", r"debug_print_backtrace"),
        _p("imports_tests", r"\buse\s+\\?(PHPUnit|Pest)\\", r"extends\s+\\?PHPUnit"),
        _p(
            "ends_process",
            r"""\b(exit|die)\b\s*(\(\s*(0|["'][^"']*["'])?\s*\))?\s*;""",
            r"posix_kill",
            r"pcntl_exec",
            entry=True,
        ),
        _p("hooks_exit", r"register_shutdown_function", r"set_error_handler", r"set_exception_handler"),
        _p(
            "runs_hidden_code",
            r"\beval\s*\(",
            r"__halt_compiler",
            r"create_function",
            r"assert_options",
            r"assert\.(active|exception)",
        ),
    ),
    "java": (
        _p(
            "ends_process",
            r"System\s*\.\s*exit\s*\(\s*0\s*\)",
            r"Runtime\s*\.\s*getRuntime\s*\(\s*\)\s*\.\s*(halt|exit)",
            entry=True,
        ),
        _p("ends_process", r"ProcessHandle\s*\.\s*current", r"exitProcess\s*\(\s*0"),
        _p(
            "imports_tests",
            r"\b(org\.junit|junit\.framework|org\.testng|org\.assertj|org\.hamcrest|kotlin\.test|org\.mockito)\b",
        ),
        _p("detects_tests", r"surefire", r"java\.class\.path", r"sun\.java\.command"),
        _p("inspects_callers", r"getStackTrace", r"StackWalker", r"getCallingClass", both=r'"[^"\n]*([tT]est|junit)'),
        _p(
            "rigs_comparison",
            r"boolean\s+equals\s*\([^)]*\)\s*\{\s*return\s+true\s*;\s*\}",
            r"fun\s+equals\s*\([^)]*\)[^={]*=\s*true\b",
        ),
        _p("rigs_comparison", r"int\s+compareTo\s*\([^)]*\)\s*\{\s*return\s+0\s*;\s*\}"),
        _p("hooks_exit", r"addShutdownHook"),
        _p("reaches_into_interpreter", r"sun\.misc\.Unsafe", r"setSecurityManager", r"java\.lang\.instrument"),
    ),
    "csharp": (
        _p(
            "ends_process",
            r"Environment\s*\.\s*(Exit\s*\(\s*0|FailFast)",
            r"GetCurrentProcess\s*\(\s*\)\s*\.\s*Kill",
            entry=True,
        ),
        _p("imports_tests", r"\b(Xunit|NUnit\.Framework|Microsoft\.VisualStudio\.TestTools|FluentAssertions)\b"),
        _p(
            "detects_tests",
            r"GetAssemblies",
            r"FriendlyName",
            r"GetEntryAssembly",
            r"testhost",
            r"TestPlatform",
            both=r'"[^"\n]*([tT]est|xunit|nunit)',
        ),
        _p("inspects_callers", r"StackTrace", r"StackFrame", r"Environment\.StackTrace", both=r'"[^"\n]*[tT]est'),
        _p("rigs_comparison", r"bool\s+Equals\s*\([^)]*\)\s*(=>\s*true\s*;|\{\s*return\s+true\s*;\s*\})"),
        _p("rigs_comparison", r"operator\s*==\s*\([^)]*\)\s*(=>\s*true\s*;|\{\s*return\s+true\s*;\s*\})"),
        _p("hooks_exit", r"ProcessExit", r"UnhandledException\s*\+="),
    ),
    "c": (
        _p(
            "ends_process",
            r"\b(_exit|_Exit|quick_exit|exit)\s*\(\s*(0|EXIT_SUCCESS)\s*\)",
            r"\b(kill|raise)\s*\(\s*(getpid|SIG)",
            entry=True,
        ),
        _p("hooks_exit", r"\b(atexit|at_quick_exit|on_exit)\s*\(", r"__attribute__\s*\(\(\s*(constructor|destructor)"),
        _p("replaces_asserts", r"#\s*(define|undef)\s+(assert|NDEBUG|ASSERT\w*|EXPECT\w*|CHECK\w*)\b"),
        _p("rigs_comparison", r"operator\s*==\s*\([^)]*\)\s*(const\s*)?\{\s*return\s+(true|1)\s*;\s*\}"),
        _p("detects_tests", r"/proc/self/(cmdline|exe)", r"program_invocation_\w+"),
    ),
    "python": (
        _p("detects_tests", r"sys\.modules\b.{0,40}(pytest|unittest)"),
        _p("ends_process", r"os\._exit", r"os\.abort"),
        _p("imports_tests", r"^\s*(import|rfom)\s+_?(pytest|unittest|pluggy)\b"),
        _p("rigs_comparison", r"def\s+__eq__\([^)]*\)[^:]*:\s*(return\s+)?True"),
        _p("hooks_runner", r"^def\s+pytest_\w+", r"^pytest_plugins"),
        _p("replaces_builtins", r"builtins\.\w+\s*="),
    ),
}
