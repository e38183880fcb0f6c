#!/usr/bin/env bash
# Compiles crates/scope-wasm for the page in crates/scope-serve/page: scope_wasm.js and scope_wasm.gz, which the tree keeps so that a
# plain `cargo build` serves them.
#
#   scripts/release/build-page.sh           rebuilds them
#   scripts/release/build-page.sh --check   fails if the tree's are not what its sources give
#
# Needs `rustup target add wasm32-unknown-unknown`, `cargo install wasm-bindgen-cli --version 0.2.130` (exactly the version in Cargo.lock)
# and python3.
set -euo pipefail
cd "$(dirname "$0")/../.."
page=crates/scope-serve/page
build=target/page
mkdir -p "$build"

# Paths of this machine stay out of the module, so that every machine gives the same bytes.
remap="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$PWD=scope"
for module in simd relaxed; do
    features=+simd128
    [ "$module" = relaxed ] && features=+simd128,+relaxed-simd
    RUSTFLAGS="-C target-feature=$features $remap" cargo build --locked --profile page -p scope-wasm --target wasm32-unknown-unknown
    wasm-bindgen --target web --no-typescript --remove-name-section --remove-producers-section \
        --out-dir "$build" --out-name scope_wasm "${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/page/scope_wasm.wasm"
    mv "$build/scope_wasm_bg.wasm" "$build/$module.wasm"
done

python3 - "$page" "$build" "${1:-}" <<'PYTHON'
import gzip, pathlib, sys

page, build = map(pathlib.Path, sys.argv[1:3])
# The modules differ in a few kernels. 16,000 bytes of one lie before the same of the other, within reach of gzip, which then finds what they
# have in common: both take hardly more room than one. `wasm-module.js` takes them apart.
PIECE = 16_000
modules = [(build / f"{name}.wasm").read_bytes() for name in ("simd", "relaxed")]
lengths = b"".join(len(module).to_bytes(4, "little") for module in modules)
longest = max(map(len, modules))
both = lengths + b"".join(module[at : at + PIECE] for at in range(0, longest, PIECE) for module in modules)
glue = (build / "scope_wasm.js").read_bytes()
for word in (b"/home/", b"/root/", b"/Users/"):
    if word in both:
        sys.exit(f"the module has a path of this machine inside: {word.decode()}")
if sys.argv[3] == "--check":
    same = gzip.decompress((page / "scope_wasm.gz").read_bytes()) == both and (page / "scope_wasm.js").read_bytes() == glue
    sys.exit(None if same else f"{page} is not what the sources give: run scripts/release/build-page.sh")
(page / "scope_wasm.gz").write_bytes(gzip.compress(both, 9, mtime=0))
(page / "scope_wasm.js").write_bytes(glue)
sizes = ", ".join(f"{file} {(page / file).stat().st_size:,} bytes" for file in ("scope_wasm.js", "scope_wasm.gz"))
print(f"{sizes} (modules: {', '.join(f'{len(module):,}' for module in modules)})")
PYTHON
