#!/usr/bin/env bash
# Checks the page that recovers fields in a browser: both modules under Node, and the page in Chromium, against the program.
#
#   scripts/checks/check-page.sh [FOLDER-FOR-SCREENSHOTS]
#
# Needs Node 20 or newer with npm, and Chromium (Debian: apt install chromium); CHROMIUM names it if it is not /usr/bin/chromium.
# A few minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release --locked
tests=crates/scope-wasm/tests
work=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
# Dependencies stay out of the tree.
mkdir -p target/page-tests
cp "$tests/package.json" target/page-tests/
npm install --silent --no-audit --no-fund --prefix target/page-tests

flags=()
node --v8-options | grep -q -- --experimental-wasm-relaxed-simd && flags=(--experimental-wasm-relaxed-simd)
for module in simd relaxed; do
    node "${flags[@]}" "$tests/module.mjs" "$module"
    node "${flags[@]}" "$tests/memory.mjs" "$module"
done

target/release/scope serve --port 0 --models models > "$work/serve.txt" &
server=$!
until grep -qs http "$work/serve.txt"; do sleep 0.2; done
node "$tests/page.mjs" "$(grep -o 'http://[0-9.:]*' "$work/serve.txt" | head -1)" ${1:+"$(realpath -m "$1")"}
