#!/usr/bin/env bash
# Training in several real processes on the CPU: equal models for 1, 2 and 4 of them, lost processes, a lost
# launcher, other launchers.
#
#     scripts/checks/processes.sh
#
# Needs Rust, and for mpirun Debian's Open MPI and libclang, which it installs where it may (apt-get, as root); without them
# that part is left out, and said so. Two or three minutes on two cores beside the builds. MPI_TARGET is where the program with the
# feature `mpi` is built (target/mpi).
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release --locked -p scope-cli
root=$PWD
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$root/target/release/scope" scope
scope=$work/scope
"$scope" data generate poisson --resolution 32 --count 200 --out data >/dev/null
train() { "$1" train --data data --model tiny --recipe "$2" --set optimizer="$3" --set peak_rate=1e-3 --device cpu "${@:4}"; }
hash() { sha256sum <"$1/model.safetensors" | cut -c1-16; }
same() { # NAME RUN...
    for run in "${@:3}"; do
        [ "$(hash "$run")" = "$(hash "$2")" ] || { echo "FAILED: $1: $run is not $2"; exit 1; }
    done
    echo "$1: $(hash "$2") ${*:2}"
}

echo "== equal models"
for recipe in full fo; do
    for optimizer in adamw muon; do
        for n in 1 2 4; do train "$scope" $recipe $optimizer --draws 640 --processes $n --out $recipe-$optimizer-$n >/dev/null; done
        same "$recipe $optimizer" $recipe-$optimizer-1 $recipe-$optimizer-2 $recipe-$optimizer-4
    done
done

echo "== a process that is killed, and one that hangs"
train "$scope" full muon --draws 6400 --processes 2 --out straight >/dev/null 2>&1
for signal in KILL STOP; do
    # In the place of the subshell, so that the processes are its own children.
    (exec "$scope" train --data data --model tiny --recipe full --set optimizer=muon --set peak_rate=1e-3 --device cpu --draws 6400 \
        --processes 3 --out $signal) >$signal.txt 2>&1 & launcher=$!
    until [ -s $signal/config.toml ] && [ "$(pgrep -P $launcher | wc -l)" = 3 ]; do
        kill -0 $launcher || { cat $signal.txt; exit 1; }
        sleep 0.1
    done
    sleep 2
    victim=$(pgrep -P $launcher | sed -n 2p)
    begin=$SECONDS
    kill -$signal "$victim"
    # The launcher ends when all but the one that hangs have ended, and ends that one.
    if wait $launcher; then echo "FAILED: the run did not notice"; exit 1; fi
    grep -q "rank 1 of 3 is lost" $signal.txt || { cat $signal.txt; exit 1; }
    echo "$signal: all ended $((SECONDS - begin)) s later: $(grep -o 'rank 1 of 3 is lost.*' $signal.txt | head -1)"
    train "$scope" full muon --draws 6400 --processes 4 --resume --out $signal >/dev/null 2>&1
    same "resumed with 4 processes" straight $signal
done

echo "== a launcher that is killed"
# The system tells its processes, which save the state and end, as they do when they are terminated.
(exec "$scope" train --data data --model tiny --recipe full --set optimizer=muon --set peak_rate=1e-3 --device cpu --draws 6400 \
    --processes 3 --out orphans) >orphans.txt 2>&1 & launcher=$!
until [ -s orphans/config.toml ] && [ "$(pgrep -P $launcher | wc -l)" = 3 ]; do
    kill -0 $launcher || { cat orphans.txt; exit 1; }
    sleep 0.1
done
sleep 2
mapfile -t children < <(pgrep -P $launcher)
begin=$SECONDS
kill -KILL $launcher
if { wait $launcher; } 2>/dev/null; then echo "FAILED: the launcher was not killed"; exit 1; fi
# One that has ended may still be in the table of processes, where nobody takes it out.
runs() { [ -d "/proc/$1" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; }
for child in "${children[@]}"; do
    while runs "$child"; do
        [ $((SECONDS - begin)) -lt 60 ] || { echo "FAILED: process $child outlives its launcher"; kill -KILL "${children[@]}"; exit 1; }
        sleep 0.1
    done
done
echo "all ended $((SECONDS - begin)) s later: $(tail -1 orphans.txt)"
train "$scope" full muon --draws 6400 --processes 2 --resume --out orphans >/dev/null 2>&1
same "resumed with 2 processes" straight orphans

echo "== mpirun"
if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null || ! command -v clang-14 >/dev/null; then
    { [ "$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq --no-install-recommends openmpi-bin libopenmpi-dev libclang-14-dev clang-14 >/dev/null; } ||
        { echo "NOT CHECKED: Open MPI and libclang are not here and cannot be installed"; exit 0; }
fi
run=(mpirun --allow-run-as-root --oversubscribe)
target=${MPI_TARGET:-$root/target/mpi}
(cd "$root" && cargo build --release --locked -p scope-cli --features mpi --target-dir "$target")
with_mpi=$target/release/scope
for n in 1 2 4; do
    "${run[@]}" -n $n "$scope" train --data data --model tiny --recipe full --set optimizer=muon --set peak_rate=1e-3 --device cpu --draws 640 --out launched-$n >/dev/null
    "${run[@]}" -n $n "$with_mpi" train --data data --model tiny --recipe full --set optimizer=muon --set peak_rate=1e-3 --device cpu --draws 640 --out mpi-$n >/dev/null
done
same "full muon under mpirun, over TCP and over MPI" full-muon-1 launched-1 launched-2 launched-4 mpi-1 mpi-2 mpi-4
