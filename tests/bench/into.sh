#!/bin/sh
# into.sh BENCH: `bench --into` replaces the table between its marks and nothing else, and refuses a file without marks.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf 'before\n\n<!-- bench --only tokenizers -->\nold\n<!-- end -->\n\nafter\n' >"$folder/page.md"
"$1" --quick --only tokenizers --into "$folder/page.md" >"$folder/out"
[ "$(head -n 1 "$folder/page.md")" = before ] || { echo "what stood before the table changed"; exit 1; }
[ "$(tail -n 1 "$folder/page.md")" = after ] || { echo "what stood after the table changed"; exit 1; }
grep -q '^| work ' "$folder/page.md" || { echo "no table was written"; exit 1; }
! grep -q '^old$' "$folder/page.md" || { echo "the old table is still there"; exit 1; }
printf 'no marks\n' >"$folder/plain.md"
if "$1" --quick --only tokenizers --into "$folder/plain.md" >"$folder/out" 2>&1; then
  echo "a file without marks was accepted"
  exit 1
fi
[ "$(cat "$folder/plain.md")" = "no marks" ] || { echo "a file without marks was changed"; exit 1; }
