#!/usr/bin/env bash
# Fails unless every name in app/packages.txt is a package that is installed by that very name, a second start calls no package manager,
# and app/run starts with the network cut off. installing.sh SOURCE BUILD
set -euo pipefail
source=$1
build=$2
command -v dpkg-query >/dev/null || exit 77  # not a Debian system
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "start: $*" >&2
  exit 1
}

# Package managers that say they were called, and fail as without a network.
mkdir "$work/bin"
for name in apt-get apt sudo; do
  printf '#!/bin/sh\necho %s "$@" >>"%s/called"\nexit 100\n' "$name" "$work" >"$work/bin/$name"
  chmod +x "$work/bin/$name"
done
export PATH=$work/bin:$PATH

# shellcheck source=app/setup.sh
source "$source/app/setup.sh"
locus_root=$source  # what locus_packages reads
missing=$(locus_packages run test | paste -sd ' ')
[ -z "$missing" ] || fail "app/packages.txt: expected names of installed packages, found $missing"
(locus_setup run test) || fail "locus_setup failed"
[ ! -e "$work/called" ] || fail "a second start called $(paste -sd ';' "$work/called")"

# A package that cannot be had is asked for once, and does not keep the rest from starting.
mkdir -p "$work/tree/app"
cp "$source/app/setup.sh" "$work/tree/app/"
printf '# names\nbash run\nlocus-no-such-package run\nlocus-no-such-test test\n' >"$work/tree/app/packages.txt"
(source "$work/tree/app/setup.sh" && locus_setup run) 2>"$work/said" || fail "a missing package ended the start"
grep -q 'could not install locus-no-such-package (' "$work/said" || fail "found $(cat "$work/said")"
grep -q apt-get "$work/called" || grep -q sudo "$work/called" || fail "a missing package was not asked for"
rm "$work/called"

# Every name has its names elsewhere, which are printed where there is no apt.
lines=$(awk '!/^#/ && NF != 4' "$source/app/packages.txt")
[ -z "$lines" ] || fail "app/packages.txt: expected four columns, found $lines"
printf '#!/bin/sh\n' >"$work/bin/dnf"
chmod +x "$work/bin/dnf"
said=$(locus_elsewhere run)
[[ $said == "sudo dnf install gcc-c++ cmake "* && $said != *Xvfb* ]] || fail "found $said"

# What is installed is said first, with its size where apt knows it.
printf '#!/bin/sh\necho "Need to get 12.3 MB of archives."\necho "After this operation, 45 MB of additional disk space will be used."\n' >"$work/bin/apt-get"
said=$(locus_announce one two 2>&1)
[[ $said == "locus: installing 2 packages (12.3 MB to download, 45 MB on disk; a few minutes): one two" ]] || fail "found $said"
printf '#!/bin/sh\necho apt-get "$@" >>"%s/called"\nexit 100\n' "$work" >"$work/bin/apt-get"

# The start command itself, in its own build folder only.
[ "$build" = "$source/build/release" ] || exit 0
cut_off=()
unshare -rn true 2>/dev/null && cut_off=(unshare -rn)
version=$(env DISPLAY=:none "${cut_off[@]}" "$source/app/run" --version) || fail "app/run failed without a network"
[[ $version == *[0-9].[0-9]* ]] || fail "app/run --version: found $version"
[ ! -e "$work/called" ] || fail "app/run called $(paste -sd ';' "$work/called")"
