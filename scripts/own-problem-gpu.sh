#!/usr/bin/env bash
# The worked example of docs/own-problem.md within a given GPU time: `small` with muon-fits for half of it, at most five minutes, two
# operators for a fifth of it each, the linear method on the processor meanwhile, and one table of all.
#
#   OUT=FOLDER scripts/own-problem-gpu.sh [MINUTES]        (10 minutes of training in all; COUNT=3000 records)
#
# Takes the variables of scripts/own-problem.sh and leaves its eight files in $OUT; called again, it does only what is missing. Needs
# Python with numpy, no network, and target/release/scope.
set -euo pipefail
cd "$(dirname "$0")/.."
total=${1:-10}
MINUTES=${MINUTES:-$(awk "BEGIN { half = $total / 2; print half < 5 ? half : 5 }")}
OPERATOR_MINUTES=${OPERATOR_MINUTES:-$(awk "BEGIN { print $total / 5 }")}
COUNT=${COUNT:-3000} TEST=${TEST:-300} CALIBRATION=${CALIBRATION:-200} OPERATORS=${OPERATORS-fno transolver}
export MINUTES OPERATOR_MINUTES COUNT TEST CALIBRATION OPERATORS
exec scripts/own-problem.sh
