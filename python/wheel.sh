#!/usr/bin/env bash
# Builds the wheel into target/wheels, one for Python 3.11 and all that follow: python/wheel.sh [MATURIN]
set -euo pipefail
cd "$(dirname "$0")/.."
"${1:-maturin}" build --release --locked --out target/wheels
ls -l target/wheels
