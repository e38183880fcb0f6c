#!/usr/bin/env bash
# The worked example of docs/own-problem.md within a given GPU time: `small` with muon-fits for half of it, at most five
# minutes, two operators for a fifth of it each, the linear method on the processor meanwhile, and one table of all.
#
#   OUT=FOLDER scripts/own-problem-gpu.sh [MINUTES]        (10 minutes of training in all; COUNT=3000 records)
#
# Takes the variables of scripts/own-problem.sh and leaves its eight files in $OUT (default: results/own-problem);
# called again, it does only what is missing. Needs Python with numpy, no network, and the program (SCOPE, or
# target/release/scope). In the environment WORK is where records and runs go, MINUTES the limit on all, after which the
# exit code is 75, and PACKED gets the eight files as one archive (scripts/session.sh); SCOPE_MINUTES and
# OPERATOR_MINUTES are those of each training.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/session.sh
total=${1:-10}; out=${OUT:-results/own-problem}
trap 'hand_out own-problem "$out"' EXIT
export MINUTES=${SCOPE_MINUTES:-$(awk "BEGIN { half = $total / 2; print half < 5 ? half : 5 }")}
export OPERATOR_MINUTES=${OPERATOR_MINUTES:-$(awk "BEGIN { print $total / 5 }")}
export COUNT=${COUNT:-3000} TEST=${TEST:-300} CALIBRATION=${CALIBRATION:-200} OPERATORS=${OPERATORS-fno transolver}
export SCOPE=$scope DEVICE=$device DATA=$work OUT=$out
timed_script scripts/own-problem.sh
