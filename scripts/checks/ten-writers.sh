#!/usr/bin/env bash
# Ten processes write one folder at the same time, over and over: exactly one must win, the folder must be whole, and all others must say
# that they have failed. Tells the rounds in which anything else happened, and fails if there was one.
#
#     scripts/checks/ten-writers.sh [ROUNDS] [WRITERS]
#
# ROUNDS (default: 1000) of WRITERS (10) processes each. A whole folder is one that equals, file by file and byte by byte, what a
# process alone writes; nothing else may lie beside it. SCOPE names the program (default: target/release/scope).
set -euo pipefail
rounds=${1:-1000}; writers=${2:-10}
cd "$(dirname "$0")/../.."
scope=$(realpath "${SCOPE:-target/release/scope}")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir round said

write() { "$scope" data generate poisson --count 1 --resolution 32 --out "$1"; }
write alone >/dev/null

bad=0
for round in $(seq "$rounds"); do
    processes=()
    for k in $(seq "$writers"); do
        write round/set >"said/$k" 2>&1 &
        processes+=($!)
    done
    won=0; odd=()
    for k in $(seq "$writers"); do
        code=0; wait "${processes[k - 1]}" || code=$?
        if [ $code = 0 ]; then won=$((won + 1)); continue; fi
        grep -qE 'another process is writing|already exists and is not empty' "said/$k" || odd+=("$(cat "said/$k")")
    done
    [ $won = 1 ] || odd+=("$won of $writers exited with 0")
    diff -r alone round/set >/dev/null 2>&1 || odd+=("the folder is not whole: $(ls -A round/set 2>&1 | tr '\n' ' ')")
    [ "$(ls -A round)" = set ] || odd+=("left behind: $(ls -A round | tr '\n' ' ')")
    if [ ${#odd[@]} -gt 0 ]; then
        bad=$((bad + 1))
        printf 'round %s: %s\n' "$round" "$(printf '%s; ' "${odd[@]}")"
    fi
    rm -rf round; mkdir round
done
echo "$rounds rounds of $writers writers, $bad bad"
[ $bad = 0 ]
