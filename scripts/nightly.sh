#!/usr/bin/env bash
# What is too slow for every change: long forms of tests, the dependencies' licences, sources and advisories, and fuzzing under
# libFuzzer.
#
#     scripts/nightly.sh [SECONDS-A-TARGET]
#
# Needs cargo-deny and cargo-fuzz (cargo install --locked cargo-deny cargo-fuzz), a nightly Rust, Python's numpy, Pillow, onnx and
# onnxruntime, for the page Node, Chromium and what docs/browser.md names, for releases the targets of static and ARM programs with
# their linkers and qemu-user, and for PyTorch's test pytest, torch, safetensors and the network's file in SCOPE_TORCH_PEER. The
# advisory database is fetched from the network; where it cannot be had, that step says so and the rest goes on.
# docs/nightly-checks.md says more.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}

echo "== licences, sources and bans of the dependencies"
cargo deny --locked check bans licenses sources

echo "== known vulnerabilities"
cargo deny --locked check advisories || echo "NOT CHECKED OR FAILED: see above"

echo "== long forms of tests that CI runs in short: a hundred times the masks, ten times the kills"
SCOPE_MASK_SEEDS=100000 cargo test --release --locked -p scope-data masks::
SCOPE_KILLS=200 cargo test --release --locked -p scope-cli --test commands kills_at_random_moments
SCOPE_CYLINDER_DRAWS=1000 cargo test --release --locked -p scope-pde --test cylinder_extremes

echo "== training in several processes: equal models, lost processes, mpirun"
scripts/checks/processes.sh

echo "== the campaign and every command of docs/reproduce.md, at a small scale"
cargo build --release --locked
scripts/checks/check-reproduce.py

echo "== what is claimed of the shipped models, and the figures that show it"
scripts/results.py check

echo "== models as ONNX graphs, in another program"
scripts/checks/check-onnx.py

echo "== a PyTorch network, converted"
if [ -n "${SCOPE_TORCH_PEER:-}" ]; then
    python3 -m pytest --noconftest -q python/tests/test_from_pytorch.py
else
    echo "NOT CHECKED: SCOPE_TORCH_PEER names no file with the network in PyTorch"
fi

echo "== what the service promises under attack"
scripts/checks/serve-faults.py

echo "== the page in the browser: its modules are those of the sources, and it does what the program does"
scripts/release/build-page.sh --check
scripts/checks/check-page.sh

echo "== release archives: the same bytes from two builds, the demo from them, crates, and the program on ARM"
for target in x86_64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-gnu; do
    scripts/checks/check-release.sh "$target"
done
scripts/release/package-crates.py
scripts/checks/check-arm.sh

echo "== all tests with assertions and overflow checks, which a release leaves out"
cargo test --locked --workspace

echo "== damaged seeds, fifty times as many as in CI"
SCOPE_FUZZ_INPUTS=100000 cargo test --release --locked -p scope-fuzz --test fuzz
PROPTEST_CASES=20000 cargo test --release --locked -p scope-fuzz --test hostile_files

echo "== libFuzzer, $seconds s a target"
cargo run --locked -p scope-fuzz --example write -- seeds fuzz/corpus
for target in $(cargo +nightly fuzz list); do
    cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=10 -max_len=65536
done
