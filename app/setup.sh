# Sourced by app/run and tests/run: installs what is missing, configures and builds build/release.
# locus_setup KIND...   KIND: run, test

locus_named() {  # the packages of the given kinds
  local kinds=" $* "
  awk -v kinds="$kinds" '!/^#/ && index(kinds, " " $2 " ") { print $1 }' "$locus_root/app/packages.txt"
}

locus_packages() {  # the packages of the given kinds that are not installed; a name that others only provide never is
  local names
  names=$(locus_named "$@")
  # shellcheck disable=SC2086  # one word a package
  comm -23 <(sort <<<"$names") <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $names 2>/dev/null | sed -n 's/^installed //p' | sort)
}

locus_install() {
  local missing sudo=""
  if ! command -v dpkg-query >/dev/null; then
    echo "locus: not a Debian system: install the packages of app/packages.txt your own way" >&2
    return 0
  fi
  missing=$(locus_packages "$@" | paste -sd ' ')
  [ -n "$missing" ] || return 0
  [ "$(id -u)" = 0 ] || sudo=sudo
  echo "locus: installing $missing" >&2
  # shellcheck disable=SC2086  # one word a package
  { $sudo apt-get update -qq &&
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null; } ||
    echo "locus: could not install $missing (is there a network?); going on without" >&2
}

locus_build() {  # locus_build TARGET: configures once, then builds what changed
  [ -f build/release/build.ninja ] || cmake --preset release >/dev/null
  cmake --build build/release --target "$1"
}

locus_setup() {
  locus_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  cd "$locus_root" || exit 1
  locus_install "$@"
}
