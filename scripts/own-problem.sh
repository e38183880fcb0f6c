#!/usr/bin/env bash
# The worked example of docs/own-problem.md from nothing to a recovered field: records of shallow water, import, networks
# and the linear method trained on them, errors of all on held-out records, error bands and what lies within, pictures.
#
#   scripts/own-problem.sh
#   RECIPES="muon-fits full" OPERATORS="fno transolver deeponet cno" scripts/own-problem.sh
#   DEVICE=cpu COUNT=300 TEST=20 CALIBRATION=40 ROWS=32 COLUMNS=48 MODES=40 MODEL=tiny OPERATORS=fno \
#       LENGTH="--draws 64 --set batch=8" scripts/own-problem.sh
#
# Needs Python with numpy, and a GPU unless DEVICE=cpu. Leaves eight files in $OUT (default: results/own-problem): log.txt,
# table.md, evaluations.json, the model with its card, demo.png, recovered.png and placed.png; the first three after every
# step. Called again, it does only what is missing; what evaluations.json has is not trained again where weights are lost,
# but bands and pictures then cannot be made. RECIPES (muon-fits) are those of MODEL (small), MINUTES (5) each, the first
# one for bands and pictures; OPERATORS (fno transolver) get OPERATOR_MINUTES (1.5) each, at OPERATOR_RATE (6e-4: the
# paper's 1.25e-4 is for its 100 epochs, and in a minute nothing is learned with it); LENGTH replaces all minutes by other
# options. COUNT (40000) records are made, TEST (500) of them held out and CALIBRATION (400) for bands, on ROWS x COLUMNS
# (96 x 160); MODES (1000) of the linear method. DATA (/tmp/scope-data) is where records and runs go, RECORDS=only makes
# the records and nothing else; SCOPE is the program, PYTHON the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."
scope=${SCOPE:-target/release/scope}; python=${PYTHON:-python3}; device=${DEVICE:-cuda}
out=${OUT:-results/own-problem}; work=${DATA:-/tmp/scope-data}/own-problem; example=examples/shallow-water
count=${COUNT:-40000}; rows=${ROWS:-96}; columns=${COLUMNS:-160}; model=${MODEL:-small}; modes=${MODES:-1000}
read -ra recipes <<<"${RECIPES:-muon-fits}"; read -ra operators <<<"${OPERATORS-fno transolver}"
read -ra length <<<"${LENGTH:---minutes ${MINUTES:-5}}"
read -ra operator_length <<<"${LENGTH:---minutes ${OPERATOR_MINUTES:-1.5}}"
operator_length+=(--set "peak_rate=${OPERATOR_RATE:-6e-4}")
data=$work/data; run=$work/${recipes[0]}; packed=$work/shallow-water.safetensors; fit=$work/linear.safetensors
mkdir -p "$out" "$work"
exec > >(tee -a "$work/log.txt" "$out/log.txt") 2>&1
step() { printf '\n== %s s: %s\n' "$SECONDS" "$*"; }
share() { awk "BEGIN { print $1 / $count }"; }

# A folder of results is there once it is whole: a command writes a hidden one, which then gets its name.
whole() { # FOLDER COMMAND...
    local folder=$1 part; part=$(dirname "$1")/.$(basename "$1"); shift
    [ ! -d "$folder" ] || return 0
    rm -rf "$part" && "$@" --out "$part" && mv "$part" "$folder"
}
evaluate() { # NAME ARGUMENTS...
    local name=$1; shift
    whole "$work/eval/$name" "$scope" evaluate "$@" --data "$data/test" --device "$device"
}
# Errors, coverage of bands and where both come from, of all that is evaluated so far.
table() {
    "$scope" report "$work"/eval/*/ --tables channels,bands,runs --out "$work/table.md" >/dev/null
    "$python" -c 'import json, pathlib, sys
files = sorted(pathlib.Path(sys.argv[1]).glob("*/uniform500.json"))
results = {file.parent.name: json.loads(file.read_text()) for file in files}
print(json.dumps(results, indent=1))' "$work/eval" >"$out/evaluations.json"
    cp "$work/table.md" "$out/table.md"
}
train() { # NAME MODEL RECIPE LENGTH...
    local name=$1 network=$2 recipe=$3; shift 3
    [ ! -d "$work/eval/$name" ] || return 0
    step "$name: $*"
    "$scope" train --data "$data/train" --model "$network" --recipe "$recipe" "$@" --log-every 200 --save-every 60 \
        --device "$device" --out "$work/$name" --resume || return
    evaluate "$name" --run "$work/$name" || return
    table
}

mkdir -p "$work/eval"
# What another machine has evaluated.
[ ! -f "$out/evaluations.json" ] || "$python" -c 'import json, pathlib, sys
for name, results in json.load(open(sys.argv[1])).items():
    folder = pathlib.Path(sys.argv[2], name)
    if not folder.exists():
        folder.mkdir()
        (folder / "uniform500.json").write_text(json.dumps(results))' "$out/evaluations.json" "$work/eval"
if [ ! -d "$data" ]; then
    step "$count records of $rows x $columns cells of 100 m"
    sed -e "s/^rows = 96/rows = $rows/; s/^columns = 160/columns = $columns/" \
        -e "s/9\.6\]/$(awk "BEGIN { print $rows / 10 }")]/; s/16\.0\]/$(awk "BEGIN { print $columns / 10 }")]/" \
        "$example/problem.toml" >"$work/problem.toml"
    whole "$work/records" "$python" "$example/make_records.py" --count "$count" --rows "$rows" --columns "$columns"
    step "import"
    "$scope" data import own --problem "$work/problem.toml" --a "$work/records/a.npy" --u "$work/records/u.npy" \
        --test-fraction "$(share "${TEST:-500}")" --calibration-fraction "$(share "${CALIBRATION:-400}")" --out "$data"
fi

[ "${RECORDS:-}" != only ] || exit 0

# The linear method needs the processor only: it is fitted and evaluated while networks train.
estimate() { # NAME ARGUMENTS...
    local name=$1; shift
    whole "$work/eval/$name" nice -n 10 "$scope" evaluate --method linear --fit "$fit" --data "$data/test" "$@"
}
linear() {
    [ -f "$fit" ] || nice -n 10 "$scope" fit linear --data "$data/train" --modes "$modes" --out "$fit"
    estimate linear
    estimate linear-bands --coverage --limit 32
}
linear >"$work/linear.txt" 2>&1 &
linear_job=$!
trap 'kill "$linear_job" 2>/dev/null || true' EXIT

for recipe in "${recipes[@]}"; do train "$recipe" "$model" "$recipe" "${length[@]}"; done
# An operator that fails is said and left out.
for operator in ${operators[@]+"${operators[@]}"}; do
    train "$operator" "$operator" operator "${operator_length[@]}" || { ended=$?; [ $ended != 75 ] || exit 75; echo "$operator failed"; }
done
step "the linear method, fitted meanwhile"
linear_status=0; wait "$linear_job" || linear_status=$?
cat "$work/linear.txt"
[ "$linear_status" = 0 ]
table

if [ ! -f "$run/model.safetensors" ] && [ ! -f "$packed" ]; then
    step "bands and pictures are left out: the weights of ${recipes[0]} are lost"
    cat "$work/table.md"
    exit 0
fi
step "weights of eight bits, their card and error bands"
if [ ! -d "$work/eval/bands" ]; then
    [ -f "$packed" ] || "$scope" model pack --run "$run" --kind int8 --data "$data/train" --out "$packed"
    whole "$work/packed" "$scope" evaluate --run "$packed" --data "$data/test" --device "$device"
    "$scope" model card --model "$packed" --run "$run" --data "$data/train" --eval "$work/packed/uniform500.json" \
        --trained-on "${ON:-one NVIDIA H200}"
    "$scope" model calibrate --model "$packed" --data "$data/calibration" --device "$device"
    evaluate bands --run "$packed"
fi
table
cp "$packed" "${packed%.safetensors}.toml" "$out"

step "a held-out record, readings of three gauges, places for five more"
"$scope" demo --data "$data" --model "$packed" --out "$work/demo"
printf 'x,y,u\n0.85,3.15,0.12\n2.20,1.90,-0.31\n2.90,4.50,0.04\n' >"$work/gauges.csv"
whole "$work/recovered" "$scope" recover --model "$packed" --sensors "$work/gauges.csv" --device "$device"
whole "$work/placed" "$scope" place --method linear --fit "$fit" --given "$work/gauges.csv" --count 5 --noise 0.01
cp "$work/demo/demo.png" "$out/demo.png"
cp "$work/recovered/fields.png" "$out/recovered.png"
cp "$work/placed/placement.png" "$out/placed.png"
step "done"
cat "$work/table.md"
