"""Command lines as developers and agents write them, and the options that none of them may hold."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

FOLDERS = ("tests", "src", "pkg/name", "node_modules", "spec/models", "tests/Unit", "src/App.Tests")


def project(folder: Path) -> Path:
    """A project's folder with a few folders in it, and beside it what none of its commands may get to."""
    root = folder / "root"
    for name in FOLDERS:
        (root / name).mkdir(parents=True)
    (folder / "out").mkdir()
    (root / "link").symlink_to(folder / "out", target_is_directory=True)
    return root


def lines(text: str) -> list[list[str]]:
    """One command a line, as a shell would split it (no shell ever does)."""
    return [shlex.split(line) for line in text.strip().splitlines() if line.strip()]


ORDINARY: dict[str, list[list[str]]] = {
    "pytest": lines("""
        pytest
        py.test -xq
        python -m pytest tests/test_a.py::test_b -x -q --tb=short
        python3 -m pytest -k "a and not b" -vv
        python -m pytest tests/test_a.py::TestA::test_b[1-é] --no-header -rA
        pytest --maxfail=3 --durations=10 --durations-min=0.5
        pytest -n auto --dist loadfile tests
        pytest -n4 --timeout=60
        pytest -p no:randomly -p no:cacheprovider
        pytest --lf --ff -x
        pytest -m "not slow and not network" tests src
        pytest -W ignore::DeprecationWarning -W error
        pytest --cov=src --cov-report=term-missing --cov-branch
        pytest --cov --no-cov-on-fail
        pytest -- tests/test_a.py
        pytest -k=@smoke
        pytest --deselect tests/test_a.py::test_b --ignore=tests/slow
        pytest --collect-only -q
        pytest -svx --log-cli-level=INFO --capture=no
        pytest --doctest-modules src
        pytest --import-mode=importlib -ra --color=no --strict-markers
        pytest --randomly-seed=1234 --asyncio-mode=auto
        pytest -vvv tests/
        pytest ./tests
    """),
    "unittest": lines("""
        python -m unittest
        python -m unittest discover
        python -m unittest discover -s tests -p "test_*.py" -v
        python -m unittest discover -s tests -p "*_test.py" -t .
        python -m unittest tests.test_a.TestA.test_b
        python -m unittest -v tests/test_a.py
        python3 -m unittest -vf -k "add*" tests.test_a
        python3 -m unittest discover tests --failfast --buffer
        python3 -m unittest -b -k TestA --locals
        python -m unittest discover --start-directory=tests --pattern=test*.py --top-level-directory=.
    """),
    "npm": lines("""
        npm test
        npm t
        npm run test
        npm run test:unit
        npm run test:unit:fast
        npm run test-unit
        npm run-script test
        npm test --silent
        npm -s test
        npm test src/a.test.ts
        npm test -- src/a.test.ts
        npm test -- -t "renders <App/> | ok"
        npm test -- --testPathPattern foo
        npm test -- -t "^adds two$" --testPathPattern "src/.*\\.test\\.ts$"
        npm test -- -t "@smoke costs 5 $ & more; #1"
        npm test -- --testPathPattern=src/foo --runInBand --silent
        npm test -- --watchAll=false
        npm test -- --watch=false --ci
        npm test -- --run src/a.test.ts
        npm test -- --grep "adds two"
        npm test -- --reporter=verbose
        npm run test -- --coverage --coverage=false
        npm run test:e2e --if-present -- --bail
    """),
    "pnpm": lines("""
        pnpm test
        pnpm t
        pnpm run test
        pnpm test:unit
        pnpm run test:unit src/a.test.ts
        pnpm test src/a.test.ts -t adds
        pnpm test -- --run
        pnpm --silent test
    """),
    "yarn": lines("""
        yarn test
        yarn run test
        yarn test:unit --runInBand
        yarn test src/a.test.ts -t "adds two"
        yarn -s test --watchAll=false
    """),
    "jest": lines("""
        npx jest
        jest src/a.test.js
        npx jest src/a.test.js -t "adds two" --verbose
        yarn jest --runInBand --ci --silent
        pnpm exec jest src --maxWorkers=50%
        npx --no-install jest -i --testTimeout=10000 --forceExit
        npx jest --testPathPattern "src/.*foo" --passWithNoTests
        npx jest --watchAll=false --bail=1 --detectOpenHandles
        npx jest --shard=1/3 --no-coverage --coverage=false
        npx jest --runTestsByPath src/a.test.js src/b.test.js
        npx jest "src/(a|b).test.js" -b
        npx jest --findRelatedTests src/a.js
        npx jest -t "costs $(5)"
    """),
    "vitest": lines("""
        npx vitest run
        npx vitest run src/a.test.ts -t "adds"
        vitest run --reporter=verbose --no-color
        vitest --run src/a.test.ts
        pnpm vitest run src --bail 1
        yarn vitest run --coverage.enabled=false
        npx vitest run --pool=forks --no-file-parallelism --testTimeout=20000
        npx vitest run --project unit --retry=2 --shard 1/2
        npx vitest run --coverage --passWithNoTests
        npx vitest run src/a.test.ts:12
    """),
    "mocha": lines("""
        npx mocha
        mocha --recursive test
        npx mocha "test/**/*.spec.js" -g "adds two" --bail
        npx mocha test/a.js --timeout 5000 --exit -R dot
        yarn mocha --reporter spec --ui bdd --parallel -j 2
        npx mocha -f exact -i -t 5s --extension ts --ignore test/slow
    """),
    "node": lines("""
        node --test
        node --test test/
        node --test --test-name-pattern="adds two" test/a.test.js
        node --test --test-reporter=tap --test-concurrency 2
        node --test --test-only --test-timeout=5000 "test/**/*.test.js"
        node --test --experimental-strip-types src/a.test.ts
    """),
    "go": lines("""
        go test
        go test ./...
        go test ./... -run TestX -count=1 -v
        go test ./... -run "TestA/sub_case|TestB" -race -short
        go test -v -timeout 5m ./pkg/name
        go test -run "^TestX$" -failfast ./pkg/...
        go test --run TestX --count=1 ./...
        go test . -tags integration,e2e -p 4 -parallel=8
        go test -cover -covermode=atomic -coverpkg=./... ./...
        go test -bench=. -benchmem -benchtime=2s -run "^$" ./pkg/name
        go test -json -shuffle on -cpu 1,2 -timeout 1h30m example.com/mod/pkg
        go test -vet=off -mod=vendor -skip TestSlow
    """),
    "cargo": lines("""
        cargo test
        cargo t
        cargo test --package p --lib mod::tests -- --nocapture
        cargo test module::tests::name -- --exact --test-threads=1
        cargo test --workspace --all-features --no-fail-fast
        cargo test -p my-crate --test integration -- --ignored --show-output
        cargo test --release --locked --offline -q
        cargo test --features "a,b" --no-default-features -j 2
        cargo test --doc -pmy-crate -Fserde/derive -j4
        cargo test -- --skip slow::tests
        cargo test --no-run --color always
    """),
    "nextest": lines("""
        cargo nextest run
        cargo nextest r
        cargo nextest run -p my-crate --no-fail-fast
        cargo nextest run -E "test(adds) & package(core)"
        cargo nextest run --workspace --retries 2 --profile ci --failure-output final
        cargo nextest run my_test --run-ignored all --no-capture
    """),
    "maven": lines("""
        mvn test
        mvn -q -Dtest=FooTest#bar test
        mvn test -Dtest=FooTest,BarTest#a*+b* -pl core,web -am
        mvn -B -ntp -o test
        mvn -q test -Dtest=FooTest -DfailIfNoTests=false
        mvn -Dtest=com.example.FooTest -Dsurefire.failIfNoSpecifiedTests=false test -pl :core
        mvn --batch-mode --no-transfer-progress -T 1C test -fae
        ./mvnw test -e -DtrimStackTrace=false
        ./mvnw -T2 -q test
    """),
    "gradle": lines("""
        gradle test
        ./gradlew test
        ./gradlew test --tests com.example.FooTest
        ./gradlew :app:test --tests "*FooTest.bar baz"
        ./gradlew app:testDebugUnitTest --offline
        ./gradlew --no-daemon --console=plain test --info --stacktrace
        gradle -q test --rerun-tasks --continue --max-workers=2
        ./gradlew :core:test :web:test --fail-fast
    """),
    "dotnet": lines("""
        dotnet test
        dotnet test --no-build --nologo -v q
        dotnet test --filter "FullyQualifiedName~Foo&Category!=Slow"
        dotnet test src/App.Tests -c Release --no-restore
        dotnet test src/App.Tests/App.Tests.csproj --framework net8.0 --verbosity=minimal
        dotnet test App.sln --list-tests
    """),
    "rspec": lines("""
        rspec
        bundle exec rspec
        bundle exec rspec spec/models/user_spec.rb:12
        rspec spec/models/user_spec.rb:12:30 --format documentation
        rspec "spec/a_spec.rb[1:2,1:3]" -fd --no-color
        rspec -e "adds two" --fail-fast --seed 1234 --order rand:5
        rspec --tag ~slow -t focus --only-failures --backtrace
        bundle exec rspec spec --fail-fast=3 --format progress --dry-run
    """),
    "phpunit": lines("""
        phpunit
        vendor/bin/phpunit tests/Unit
        ./vendor/bin/phpunit --filter "FooTest::testBar" tests/Unit/FooTest.php
        php vendor/bin/phpunit --testsuite unit --stop-on-failure
        vendor/bin/phpunit --group a,b --exclude-group slow --colors=never --testdox
        phpunit --filter="/::testAdd( .*)?$/" --no-coverage --order-by=defects
    """),
    "make": lines("""
        make test
        make check
        make -s test
        make -j4 test
        make -j 4 -k check
        make --silent --jobs=2 test
        make -sk test check
    """),
    "tox": lines("""
        tox
        tox r
        tox -e py311
        tox run -e py311,lint -q
        tox -q -- -k add tests/test_a.py
        tox -epy311 -vv -- -x --tb=short
    """),
    "nox": lines("""
        nox
        nox -s tests
        nox -s tests-3.12 -- -k add -x
        nox -R -s "tests(django='4.2')"
        nox --session=tests --no-install -p 3.12
    """),
}

GIT = lines("""
    git status
    git status --short --branch
    git status -sb
    git status --porcelain=v2 -z -uno
    git status src
    git diff
    git diff HEAD~1 --stat
    git diff --cached --name-only -- src/a.py
    git diff main...feature/x -- src tests
    git diff HEAD -U10 -w
    git diff -- -weird.py @odd ~odd
    git diff v1.0..HEAD src/a.py
    git diff .
    git diff HEAD@{1} HEAD^ --diff-filter=AM
    git log --oneline -5
    git log -p -3 --oneline
    git log -n 10 --since="2 weeks ago"
    git log -n5 --author "A. B." --grep fix --no-merges
    git log --format="%h %an %s" --date=short
    git log --pretty=oneline --graph --all --decorate
    git log -S needle -- src
    git log -G "re.*x" --oneline
    git log -L 10,20:src/a.py
    git log --follow src/a.py
    git log origin/main..
    git show
    git show HEAD~2 --stat
    git show HEAD:src/a.py
    git show v1.0^{commit} --no-patch --format=fuller
""")


def _hostile(text: str, **groups: str) -> list[tuple[tuple[str, ...], str]]:
    """Pairs of a command and an option. A line is a command, a colon, and options; {NAME} stands for a group."""
    pairs: list[tuple[tuple[str, ...], str]] = []
    for line in text.strip().splitlines():
        start, _, options = line.format(**groups).partition(" : ")
        pairs += [(tuple(start.split()), option) for option in options.split()]
    return list(dict.fromkeys(pairs))


HOSTILE = _hostile(
    """
    pytest : -p -c --config-file -o --override-ini --rootdir --confcutdir --pyargs --junitxml --log-file --debug
    pytest : --basetemp --report-log --pdb --trace --pdbcls --pastebin --cov-config --tx --rsyncdir --html -f
    pytest : --looponfail --doctest-glob --noconftest -h --version --fixtures --snapshot-update
    python -m unittest : -X -W -i -E -m --tb --rootdir
    npm test : {MANAGER} {JS}
    npm test -- : {JS}
    yarn test : {MANAGER} {JS}
    pnpm run test:unit : {MANAGER} {JS}
    npx jest : {JS} -c --onlyChanged --changedSince --testRunner --preset --projects
    npx vitest run : {JS} -c --browser --standalone --changed -w
    npx mocha : {JS} -r --file --opts --package --reporter-option -O -n -w
    node --test : -r --require --import --loader --experimental-loader -e --eval -p --print --inspect --inspect-brk
    node --test : --watch --env-file --test-reporter-destination --cpu-prof --heap-prof --report-directory -i -C
    go test : {GO}
    cargo test : --config -Z --manifest-path --target-dir -C --out-dir --target --timings --artifact-dir
    cargo test -- : --logfile -Z --format --config --bench --shuffle-seed
    cargo nextest run : --config -Z --manifest-path --config-file --tool-config-file --archive-file
    mvn test : -f --file -s --settings -gs -t --toolchains -Dexec.executable -DargLine -DskipTests
    mvn test : -Dmaven.repo.local -Dit.test -P -b --builder -l --log-file -U --define -rf
    ./gradlew test : -b -c -I --init-script --project-dir -p -g -Px -Dx --include-build --scan --build-file
    ./gradlew test : --settings-file --gradle-user-home --project-cache-dir -t --continuous --system-prop
    ./gradlew test : --project-prop --write-locks --profile
    dotnet test : --settings -s --test-adapter-path --logger --collect --results-directory -d --diag -p:x
    dotnet test : --property --environment -e -o --output -l --blame -a --arch --artifacts-path
    rspec : -r -I -O --options --require -o --out --drb --init -X --bisect --default-path
    phpunit : --bootstrap -c --configuration --prepend --extension --include-path -d --log-junit --loader
    phpunit : --log-events-text --coverage-html --coverage-text --cache-directory --generate-configuration
    make test : -f -C -I -E --eval -e -i -W -o --file --makefile --directory --include-dir -B -n
    tox : -c --conf -x --workdir --root --installpkg -r --override --result-json -p --develop
    tox -- : -p -c -o --rootdir --pdb --pyargs
    nox : -f --noxfile --envdir --force-venv-backend -k --report --default-venv-backend -fb
    nox -- : -p -c -o --rootdir --pdb --pyargs
    """,
    JS="--config --globalSetup --globalTeardown --setupFiles --setupFilesAfterEnv --testEnvironment --transform "
    "--reporters --resolver --runner --rootDir --outputFile --outputFile.json --coverageDirectory --cacheDirectory "
    "--watch --watchAll --ui=true --api --inspect --inspect-brk --updateSnapshot -u=x --require --import --loader "
    "--coverage.reportsDirectory --root --environment --execArgv --env-file",
    MANAGER="--script-shell --prefix -C --userconfig --globalconfig --node-options --ignore-scripts --workspace "
    "--registry --cwd --dir -w",
    GO=" ".join(
        f"-{name} --{name}"
        for name in ("exec", "toolexec", "o", "c", "coverprofile", "cpuprofile", "memprofile", "blockprofile",
                     "mutexprofile", "trace", "outputdir", "test.run", "test.coverprofile", "C", "modfile", "overlay",
                     "pkgdir", "ldflags", "gcflags", "asmflags", "gccgoflags", "vettool", "args", "work", "n", "x",
                     "fuzz")
    ),
)  # fmt: skip
HOSTILE_GIT = _hostile(
    "\n".join(f"git {sub} : {{OPTIONS}}" for sub in ("status", "diff", "log", "show")),
    OPTIONS="--output -o --ext-diff --textconv --no-index -O --show-signature --submodule --exec --contents --git-dir "
    "--work-tree -C --paginate --open-files-in-pager --config-env --exec-path --stdin --pathspec-from-file",
)


def ordinary() -> list[tuple[str, list[str]]]:
    """Every ordinary command, with the name of its runner."""
    return [(runner, argv) for runner, every in ORDINARY.items() for argv in every]


def spelled_out(argv: Any, outside: Path) -> Any:
    """The argv of a case with its placeholders filled in."""
    if not isinstance(argv, list):
        return argv
    out: list[Any] = []
    for word in argv:
        if isinstance(word, str) and word.startswith("{REPEAT_ARGS:"):
            _, repeated, times = word.strip("{}").split(":")
            out += [repeated] * int(times)
        else:
            out.append(word.replace("{OUT}", str(outside)) if isinstance(word, str) else word)
    return out
