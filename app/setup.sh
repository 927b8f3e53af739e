# Sourced by app/run and tests/run: installs what is missing, configures and builds build/release.
# locus_setup KIND...   KIND: run, test

locus_packages() {  # the packages of the given kinds that are not installed
  local kind package want
  while read -r package kind; do
    for want in "$@"; do
      [ "$kind" = "$want" ] || continue
      dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    done
  done < <(grep -v '^#' "$locus_root/app/packages.txt")
}

locus_install() {
  local missing sudo=""
  if ! command -v dpkg-query >/dev/null; then
    echo "locus: not a Debian system: install the packages of app/packages.txt your own way" >&2
    return 0
  fi
  missing=$(locus_packages "$@")
  [ -n "$missing" ] || return 0
  [ "$(id -u)" = 0 ] || sudo=sudo
  echo "locus: installing" $missing
  $sudo apt-get update -qq
  # shellcheck disable=SC2086  # one word a package
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
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
