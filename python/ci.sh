#!/usr/bin/env bash
# The Python package as users get it: a wheel, built and installed into a clean environment under target/, and its tests there.
# Needs Python 3.11 or newer and the package registry; without Python it says so and passes.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "no Python 3.11 or newer is at hand: the Python package is not tested"
    exit 0
fi
environment=target/python
wheels=target/wheels
rm -rf "$environment" "$wheels"
python3 -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check maturin
python/wheel.sh "$environment/bin/maturin"
"$environment/bin/pip" install --quiet --disable-pip-version-check "$(ls "$wheels"/fieldscope-*.whl)[test]"
cargo build --release --locked -p scope-cli # What results are compared with.
# From elsewhere, so that the installed package is imported and not the folder of its sources.
root=$PWD
cd "$environment"
./bin/python -m pytest --quiet --no-header -p no:cacheprovider "$root/python/tests"
