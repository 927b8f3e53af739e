#!/usr/bin/env bash
# Several processes of one job on the loopback address: locus atlas gives the same file by 1 to 4 of them and outlives
# the death of one; locus train trains as one process does. processes.sh SOURCE PROGRAM; exits 77 without Gloo.
set -uo pipefail
source=$1
locus=$2
folder=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset RANK WORLD_SIZE MASTER_PORT
export MASTER_ADDR=127.0.0.1

fail() {
  echo "processes.sh: $*"
  for file in *.err; do echo "--- $file"; cat "$file"; done
  exit 1
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# job N WORDS…: N processes of the program, with what rank R says in R.out and R.err; the statuses in $statuses.
start_job() {
  local size=$1 rank
  shift
  MASTER_PORT=$(free_port)
  export MASTER_PORT
  pids=()
  for ((rank = 0; rank < size; ++rank)); do
    RANK=$rank WORLD_SIZE=$size "$locus" --threads 1 "$@" >$rank.out 2>$rank.err &
    pids+=($!)
  done
}
end_job() {
  statuses=""
  for pid in "${pids[@]}"; do
    wait "$pid"
    statuses+="$? "
  done
}

atlas=(atlas "$source/assets/checkpoints/text-rope" --corpus "$source/assets/samples/alice.txt" --length 32 --map-size 8
  --replicates 20 --what profile,heads,sinks,loss,mean-map,examples)

# ---- the same bits by any number of processes
"$locus" --threads 1 "${atlas[@]}" --windows 70 --out 1.safetensors >one.out 2>one.err || fail "one process failed"
for size in 2 3 4; do
  start_job $size "${atlas[@]}" --windows 70 --out $size.safetensors
  end_job
  grep -q "has no Gloo" 0.err && exit 77
  [ "$statuses" = "$(printf '0 %.0s' $(seq $size))" ] || fail "$size processes ended with $statuses"
  cmp 1.safetensors $size.safetensors || fail "$size processes gave another file than one"
  grep -q "rank $((size - 1)) of $size on" $((size - 1)).err || fail "no line says the rank"
done

# ---- one is killed: the others end, and another number of processes goes on
long=("${atlas[@]}" --windows 400 --save-seconds 0)
"$locus" --threads 1 "${long[@]}" --out whole.safetensors >one.out 2>one.err || fail "the long one failed"
start_job 3 "${long[@]}" --out killed.safetensors
for ((n = 0; n < 1200; ++n)); do
  [ -e killed.safetensors ] && break
  sleep 0.05
done
kill -9 "${pids[1]}"
began=$(date +%s)
end_job
took=$(($(date +%s) - began))
echo "after a kill the others ended within $took s with $statuses"
[ "$statuses" = "1 137 1 " ] || fail "after a kill the processes ended with $statuses"
[ "$took" -le 30 ] || fail "the others took $took s to end"
for rank in 0 2; do
  [ "$(grep -c "locus: error: " $rank.err)" = 1 ] || fail "rank $rank says no single error"
  grep -q "locus: error: stopped: .*rank 1" $rank.err || fail "rank $rank does not name rank 1"
done
done=$(python3 -c 'import json,sys;f=open("killed.safetensors","rb");n=int.from_bytes(f.read(8),"little");print(json.loads(f.read(n))["__metadata__"]["locus.done"])')
[ "$done" -lt 400 ] || fail "the killed job was done already"
start_job 2 "${long[@]}" --out killed.safetensors --resume
end_job
[ "$statuses" = "0 0 " ] || fail "going on ended with $statuses"
cmp whole.safetensors killed.safetensors || fail "going on after $done windows gave another file"

# ---- no room on the disk: the file that was there stays
(ulimit -f 8 && exec "$locus" --threads 1 "${atlas[@]}" --windows 70 --overwrite --out 1.safetensors) >one.out 2>one.err
status=$?
[ $status = 3 ] || fail "a full disk: the process ended with $status"
[ "$(grep -c "locus: error: " one.err)" = 1 ] || fail "a full disk is no single error"
cmp 1.safetensors 2.safetensors || fail "a full disk spoiled the file that was there"

# ---- what one process cannot do ends all of them
start_job 2 "${atlas[@]}" --windows 70 --out 1.safetensors
end_job
[ "$statuses" = "3 1 " ] || fail "a file that is there: the processes ended with $statuses"
grep -q "rank 0 .*the file exists" 1.err || fail "rank 1 does not say why rank 0 ended"

# ---- training: 2 × 16 sequences as 1 × 32
train=(train text --corpus "$source/assets/samples/alice.txt" --layers 2 --heads 2 --width 32 --length 32 --steps 50
  --warmup 10 --seed 3 --save-every 25)
"$locus" --threads 1 "${train[@]}" --batch 32 --out alone >one.out 2>one.err || fail "training alone failed"
start_job 2 "${train[@]}" --batch 16 --out together
end_job
[ "$statuses" = "0 0 " ] || fail "training by two ended with $statuses"
python3 - <<'PY' || fail "the loss curves differ"
import csv
curves = [[float(row["loss"]) for row in csv.DictReader(open(f"{name}/loss.csv"))] for name in ("alone", "together")]
assert len(curves[0]) == len(curves[1]) == 50, [len(curve) for curve in curves]
largest = max(abs(a - b) for a, b in zip(*curves))
print(f"largest difference of the two loss curves over 50 steps: {largest:.2e} nats")
assert largest < 1e-4, largest
assert curves[0][-1] < curves[0][0] - 0.5, "nothing was learned"
PY
echo "processes.sh: all is well"
