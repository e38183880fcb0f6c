#!/usr/bin/env bash
# Builds the program for ARM, runs its kernel tests under an emulator, with plain and with NEON kernels, and compares the demo's errors
# for all five problems with this machine's.
#
#     scripts/checks/check-arm.sh [demo]        (demo: without the kernel tests)
#
# Needs Debian's gcc-aarch64-linux-gnu and qemu-user, python3, and `rustup target add aarch64-unknown-linux-gnu`; takes a complete build
# and a few minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=aarch64-unknown-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=${CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER:-aarch64-linux-gnu-gcc}
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=${CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER:-qemu-aarch64 -L /usr/aarch64-linux-gnu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo build --release --locked -p scope-cli
cargo build --release --locked -p scope-cli --target "$target"
built=${CARGO_TARGET_DIR:-target}
for pde in poisson helmholtz darcy ns cylinder; do
    "$built/release/scope" demo --pde "$pde" --json --out "$work/here" > "$work/here-$pde.json"
    $CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER "$built/$target/release/scope" demo --pde "$pde" --json --out "$work/arm" \
        > "$work/arm-$pde.json"
    rm -rf "$work/here" "$work/arm"
    python3 - "$pde" "$work/here-$pde.json" "$work/arm-$pde.json" <<'PYTHON'
import json, sys

# Of an error in percent, so much may be different: what the order of sums and fused products do to single precision.
ROUNDING = 1e-3
pde, *paths = sys.argv[1:]
here, arm = (json.load(open(path))["errors_percent"] for path in paths)
pairs = [(here[task][field], arm[task].get(field)) for task in here for field in here[task]]
if not pairs or here.keys() != arm.keys() or any(got is None for _, got in pairs):
    sys.exit(f"error: {pde}: the demos report different figures: {here}, on ARM {arm}")
worst = max(abs(got - expected) / expected if expected else abs(got) for expected, got in pairs)
print(f"{pde:10} {len(pairs)} errors of the demo, largest difference {worst:.1e} of an error")
sys.exit(None if worst <= ROUNDING else f"error: {pde}: {here}, on ARM {arm}")
PYTHON
done

[ "${1:-}" = demo ] || cargo test --release --locked -p scope-engine --target "$target"
