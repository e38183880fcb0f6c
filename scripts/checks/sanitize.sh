#!/usr/bin/env bash
# Runs the self-test of a GPU under compute-sanitizer: memcheck over all of it, racecheck over each group of operations beside it.
# Groups run at the same time, as racecheck is bound by one core each. Fails if anything was found or did not end.
#
#     scripts/checks/sanitize.sh
#
# Builds first where cargo is at hand; elsewhere SCOPE names the program. SECONDS_EACH (600) is how long each may take; OUT keeps
# what they say. Kernels of cuBLAS are watched too: racecheck reports hazards inside some of them (nvjet), which are told apart below.
set -euo pipefail
out=${OUT:-$(mktemp -d)}; each=${SECONDS_EACH:-600}; scope=${SCOPE:-}
sanitizer=${SANITIZER:-$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)}
if [ -z "$scope" ]; then
    cargo build --release
    scope=target/release/scope
fi
# The operations' first words; together they are the whole self-test.
groups=(linear "layer norm" attention convolution patches tiles visibility "channels first" add mean spread "gelu alone" leaky
    pixels frame join map strided mixing "batch norm" expansion projection slices parameters gather)

check() { # TOOL GROUP
    local log="$out/$1-${2// /-}.txt" ended=0
    timeout "$each" "$sanitizer" --tool "$1" "$scope" doctor --selftest --only "$2" >"$log" 2>&1 || ended=$?
    echo "ended with $ended" >>"$log"
}
"$scope" doctor --selftest # compiles all kernels and times all products once, unwatched
check memcheck "" &
for group in "${groups[@]}"; do check racecheck "$group" & done
wait

failed=0
for log in "$out"/memcheck-*.txt "$out"/racecheck-*.txt; do
    name=$(basename "$log" .txt)
    own=$(grep -E 'Race reported|Invalid|Error:' "$log" | grep -vc nvjet || true)
    library=$(grep -c 'Race reported.*nvjet' "$log" || true)
    checks=$(grep -oE '[0-9]+ of [0-9]+ checks passed' "$log" || echo "did not end")
    echo "$name: $checks; found $own, and $library in the library"
    read -r passed _ all _ <<<"$checks"
    [ "$own" = 0 ] && [ "$passed" = "$all" ] || failed=1
done
exit "$failed"
