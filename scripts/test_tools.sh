#!/bin/sh
# The tools that tests of runners and of the sandbox use where they are there: go, rspec, phpunit, mvn, bwrap.
# On a CI machine (CI=true, root, apt-get) those that are absent are installed; elsewhere it is only said which are.
# Never fails a build: a test that misses its tool skips and says so.

limit_s=${TEST_TOOLS_LIMIT_S:-240}

package_of() {
    case $1 in
        bwrap) echo bubblewrap ;;
        go) echo golang-go ;;
        rspec) echo ruby-rspec ;;
        phpunit) echo phpunit ;;
    esac
}

absent=
packages=
for tool in bwrap go rspec phpunit; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        absent="$absent $tool"
        packages="$packages $(package_of "$tool")"
    fi
done
for tool in mvn node cargo; do
    command -v "$tool" >/dev/null 2>&1 || echo "test tools: $tool is absent and is not installed by this script"
done

if [ -z "$absent" ]; then
    echo "test tools: all there"
    exit 0
fi
echo "test tools: absent:$absent"
if [ "${CI:-}" != true ]; then
    echo "test tools: nothing is installed here, since CI is not \"true\"; their tests will skip"
    exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "test tools: nothing is installed here: that takes root and apt-get; their tests will skip"
    exit 0
fi

run() {
    if command -v timeout >/dev/null 2>&1; then
        timeout -k 10 "$limit_s" "$@"
    else
        "$@"
    fi
}

export DEBIAN_FRONTEND=noninteractive
log=$(mktemp 2>/dev/null || echo /dev/null)
options="-y -q --no-install-recommends -o DPkg::Lock::Timeout=60 -o Acquire::Retries=1"
# shellcheck disable=SC2086  # options and packages are lists of words
if ! run apt-get install $options $packages >"$log" 2>&1 </dev/null; then
    run apt-get update -q -o DPkg::Lock::Timeout=60 -o Acquire::Retries=1 >>"$log" 2>&1 </dev/null
    # one at a time, so that a package that cannot be had leaves the others
    for package in $packages; do
        run apt-get install $options "$package" >>"$log" 2>&1 </dev/null \
            || echo "test tools: $package could not be installed: $(grep '^E:' "$log" | tail -n 1)"
    done
fi
for tool in $absent; do
    if command -v "$tool" >/dev/null 2>&1; then
        echo "test tools: $tool is installed now"
    else
        echo "test tools: $tool is still absent; its tests will skip"
    fi
done
[ "$log" = /dev/null ] || rm -f "$log"
exit 0
