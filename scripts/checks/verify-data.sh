#!/usr/bin/env bash
# Makes full-size sets of all five problems, checks them, and prints rates: the evidence behind docs/data.md.
#
#     scripts/checks/verify-data.sh SCOPE-BINARY WORK-FOLDER [RECORDS] [CYLINDER-RECORDS]
#
# With the defaults it needs 7 GB of disk at a time, and about six minutes on 16 cores.
set -euo pipefail

scope=$1
work=$2
records=${3:-50000}
cylinder_records=${4:-20000}

mkdir -p "$work"
grep -m1 'model name' /proc/cpuinfo || true
nproc
"$scope" bench generate

for pde in poisson helmholtz darcy ns cylinder; do
    count=$records
    [ "$pde" = cylinder ] && count=$cylinder_records
    echo
    echo "== $pde"
    rm -rf "${work:?}/$pde"
    "$scope" data generate "$pde" --count "$count" --out "$work/$pde"
    time "$scope" data check "$work/$pde" || echo "check failed"
    "$scope" data check "$work/$pde" --json > "$work/$pde.json" || true
    rm -rf "${work:?}/$pde"
done
