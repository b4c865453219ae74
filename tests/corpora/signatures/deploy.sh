#!/usr/bin/env bash
# Deploys the service to a host.
set -euo pipefail

readonly VERSION="1.4.2"
declare -r ROOT=/srv/app STATE=/var/lib/app
declare -A HOSTS=([web]=10.0.0.1 [db]=10.0.0.2)
export PATH="$PATH:/opt/bin" LANG
retries=3
stages=(build test ship)
stages+=(clean)
MESSAGE=$(cat <<'EOF'
fake_in_heredoc() { :; }
EOF
)
TARGET="${1:-staging}" # where to

# Writes a line to the log.
# Takes the level first.
log() {
  local level=$1
  shift
  printf '%s %s\n' "$level" "$*"
}

# shellcheck disable=SC2034
function build {
  inner_step() { make "$1"; }
  result=0
  cat <<-END
	function fake { }
	END
}

function run_tests() {
  LANG=C make test
}

rollback() (
  cd "$ROOT" && git revert HEAD
)

app::health-check ()
{
  curl -fsS "http://$1/health"
}

if [[ "$TARGET" == prod ]]; then
  confirm() { read -r -p "Sure? " answer; }
  retries=5
else
  confirm() { :; }
fi

größe() { du -s "$1"; }

: "${EDITOR:=vi}"
trap 'rollback() { :; }' ERR
DEBUG=1 log info "start"
main() if true; then log info "main"; fi
main "$@"
