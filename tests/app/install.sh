#!/usr/bin/env bash
# Installs into an empty prefix, moves it, and starts what is there; every installed file is one that programs of the desktop accept.
# install.sh BUILD
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "install: $*" >&2
  exit 1
}

cmake --install "$build" --prefix "$work/first" >/dev/null
mkdir "$work/second"
mv "$work/first" "$work/second/moved"
prefix=$work/second/moved
locus=$prefix/bin/locus

# Starts at once, and by a link.
ln -s "$locus" "$work/link"
[[ $("$work/link" --version) == "locus "*LibTorch* ]] || fail "--version"
"$locus" help exit-status >/dev/null || fail "help"

# The program, with the assets of the prefix.
cd "$work"
"$locus" info "$prefix/share/locus/assets/checkpoints/flip-flop-rope" | grep '^family' >/dev/null || fail "info"
if [ -e "$prefix/share/applications/locus.desktop" ]; then
  figures=$("$locus" --figures "$work/figures" --only "TAPE Fig. 8") || fail "--figures found no session"
  [[ $figures == *.png*.pdf*.html ]] || fail "--figures --only: found $figures"
  for size in 16 24 32 48 64 128 256; do
    [ -s "$prefix/share/icons/hicolor/${size}x$size/apps/locus.png" ] || fail "no icon of $size pixels"
  done
  ! command -v desktop-file-validate >/dev/null || desktop-file-validate "$prefix/share/applications/locus.desktop" || fail "desktop file"
  ! command -v appstreamcli >/dev/null || appstreamcli validate --no-net "$prefix/share/metainfo/"*.xml >"$work/said" || fail "$(cat "$work/said")"
fi
[ -s "$prefix/share/locus/python/locus_trace.py" ] || fail "locus_trace.py"
[ -s "$prefix/share/locus/python/reference.py" ] || fail "reference.py"
bash -n "$prefix/share/bash-completion/completions/locus" || fail "completion of bash"
[ -s "$prefix/share/zsh/vendor-completions/_locus" ] && [ -s "$prefix/share/fish/vendor_completions.d/locus.fish" ] || fail "completions"
gzip -dc "$prefix/share/man/man1/locus.1.gz" | grep '^\.TH LOCUS 1' >/dev/null || fail "page of man"
