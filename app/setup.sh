# Sourced by app/run and tests/run: installs what is missing, configures and builds build/release, or the folder LOCUS_BUILD.
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

locus_elsewhere() {  # what to type on other distributions, from the same table
  local kinds=" $* " column command
  if command -v dnf >/dev/null; then column=3 command="sudo dnf install"; else column=4 command="sudo pacman -S --needed"; fi
  awk -v kinds="$kinds" -v column="$column" -v command="$command" \
    '!/^#/ && index(kinds, " " $2 " ") { gsub(",", " ", $column); command = command " " $column } END { print command }' \
    "$locus_root/app/packages.txt"
}

locus_announce() {  # what is about to be installed: its packages, their size and roughly how long that takes
  local size=""
  size=$(LC_ALL=C apt-get install --assume-no --no-install-recommends "$@" 2>/dev/null |
    sed -n 's/^Need to get \(.*\) of archives.*/\1 to download/p; s/^After this operation, \(.*\) of additional.*/\1 on disk/p' | paste -sd ';' | sed 's/;/, /') || true  # --assume-no is a failure
  echo "locus: installing $# packages${size:+ ($size; a few minutes)}: $*" >&2
}

locus_install() {
  local missing sudo=""
  if ! command -v dpkg-query >/dev/null; then
    echo "locus: not a Debian system; what has to be installed: $(locus_elsewhere "$@")" >&2
    return 0
  fi
  missing=$(locus_packages "$@" | paste -sd ' ')
  [ -n "$missing" ] || return 0
  [ "$(id -u)" = 0 ] || sudo=sudo
  # shellcheck disable=SC2086  # one word a package
  { $sudo apt-get update -qq && locus_announce $missing &&
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null; } ||
    echo "locus: could not install $missing (is there a network?); going on without" >&2
}

locus_build() {  # locus_build TARGET: configures once, then builds what changed; says first how much that is
  local steps
  [ -f "$locus_folder/build.ninja" ] || cmake --preset release -B "$locus_folder" >/dev/null
  steps=$(ninja -C "$locus_folder" -n "$1" 2>/dev/null | sed -n 's/^\[[0-9]*\/\([0-9]*\)\].*/\1/p' | tail -n 1) || true
  if [ "${steps:-0}" -gt 10 ]; then  # about six seconds of one core a step
    echo "locus: building, $steps steps: about $((steps * 6 / 60 / $(nproc) + 1)) minutes on $(nproc) cores, less with a compiler cache" >&2
  fi
  cmake --build "$locus_folder" --target "$1"
}

locus_setup() {
  locus_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  locus_folder=$(realpath -m "${LOCUS_BUILD:-$locus_root/build/release}")
  cd "$locus_root" || exit 1
  locus_install "$@"
}
