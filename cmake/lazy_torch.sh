#!/bin/sh
# Writes assembly for x86-64: a function for each of LibTorch's that the objects of some archives call. It jumps to where
# LibTorch has that function; before LibTorch is loaded, to code that calls locus_load_torch() (core/lazy/load_torch.cpp).
# lazy_torch.sh NM OUT.S "LIBRARY…" ARCHIVE…
set -eu
nm=$1
out=$2
libraries=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LC_ALL=C
"$nm" --format=posix --undefined-only "$@" 2>/dev/null | awk 'NF > 1 && $2 == "U" { print $1 }' | sort -u >"$folder/called"
: >"$folder/theirs"
for library in $libraries; do
  "$nm" --format=posix --dynamic --defined-only "$library" | awk '$2 == "T" { sub(/@.*/, "", $1); print $1 }' >>"$folder/theirs"
done
sort -u -o "$folder/theirs" "$folder/theirs"
comm -12 "$folder/called" "$folder/theirs" >"$folder/names"
[ -s "$folder/names" ] || { echo "lazy_torch: no function of LibTorch is called" >&2; exit 1; }
awk '
  { names[n++] = $1 }
  END {
    print "\t.section .rodata.locus_torch,\"a\",@progbits"
    for (i = 0; i < n; ++i) printf ".Lname%d:\t.asciz \"%s\"\n", i, names[i]
    print "\t.section .data.rel.ro.locus_torch,\"aw\",@progbits\n\t.balign 8\n\t.globl locus_torch_names\nlocus_torch_names:"
    for (i = 0; i < n; ++i) printf "\t.quad .Lname%d\n", i
    print "\t.section .rodata\n\t.balign 8\n\t.globl locus_torch_count\nlocus_torch_count:\t.quad " n
    print "\t.data\n\t.balign 8\n\t.globl locus_torch_functions\nlocus_torch_functions:"
    for (i = 0; i < n; ++i) printf "\t.quad .Lload%d\n", i
    print "\t.text"
    for (i = 0; i < n; ++i) {
      printf "\t.globl %s\n\t.hidden %s\n\t.type %s,@function\n", names[i], names[i], names[i]
      printf "%s:\tjmp *locus_torch_functions+%d(%%rip)\n", names[i], 8 * i
      printf ".Lload%d:\tleaq locus_torch_functions+%d(%%rip), %%r11\n\tjmp .Lload\n", i, 8 * i
    }
    print ".Lload:"  # all registers that arguments lie in are kept; the stack is aligned as calls want it
    split("rdi rsi rdx rcx r8 r9 rax r10 r11", whole, " ")
    for (i = 1; i <= 9; ++i) print "\tpushq %" whole[i]
    print "\tsubq $128, %rsp"
    for (i = 0; i < 8; ++i) printf "\tmovdqu %%xmm%d, %d(%%rsp)\n", i, 16 * i
    print "\tcall locus_load_torch"
    for (i = 0; i < 8; ++i) printf "\tmovdqu %d(%%rsp), %%xmm%d\n", 16 * i, i
    print "\taddq $128, %rsp"
    for (i = 9; i >= 1; --i) print "\tpopq %" whole[i]
    print "\tjmp *(%r11)"
    print "\t.section .note.GNU-stack,\"\",@progbits"
  }' "$folder/names" >"$out"
