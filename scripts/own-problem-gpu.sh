#!/usr/bin/env bash
# The worked example of docs/own-problem.md on a GPU within one call of nine minutes: `small` with muon-fits, two operators
# for a minute in all, the linear method on the processor meanwhile, and one table of all.
#
#   OUT=FOLDER scripts/own-problem-gpu.sh [MINUTES]        (5 minutes of `small`; COUNT=20000 records)
#
# Everything else takes two to three minutes: records, evaluations, weights of eight bits, bands and pictures. Takes the
# variables of scripts/own-problem.sh and leaves its eight files in $OUT (default: results/own-problem), the first three
# after every step, so that a call that is cut short has figures too; called again, it does only what is missing. Needs
# Python with numpy, no network, and the program (SCOPE, or target/release/scope). In the environment WORK is where
# records and runs go, MINUTES the limit on all, after which the exit code is 75, and PACKED gets the files as one archive
# (scripts/session.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/session.sh
out=${OUT:-results/own-problem}
trap 'hand_out own-problem "$out"' EXIT
export MINUTES=${1:-5} OPERATOR_MINUTES=${OPERATOR_MINUTES:-0.5}
export COUNT=${COUNT:-20000} TEST=${TEST:-400} CALIBRATION=${CALIBRATION:-400} OPERATORS=${OPERATORS-fno deeponet}
export SCOPE=$scope DEVICE=$device DATA=$work OUT=$out
timed_script scripts/own-problem.sh
