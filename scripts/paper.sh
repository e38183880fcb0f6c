#!/usr/bin/env bash
# The paper's campaign for one problem or several: data, the recipes Full, FJV and FO, replacement decoders of three
# sizes fitted on sparse contexts (SP) and on complete views (DP), four operators, the auxiliary operators, their
# evaluations, pairs, tables and figures.
#
#   scripts/paper.sh PDE[,PDE...]|all [SCALE]
#   scripts/paper.sh poisson                                                    # the paper's epochs: hours of a GPU
#   MODEL=base scripts/paper.sh poisson                                         # and its model
#   DRAWS=200000 OPERATOR_DRAWS=50000 HEAD_DRAWS=16000 scripts/paper.sh all     # the same work, short
#   DEVICE=cpu MODEL=tiny RESOLUTION=32 COUNT=64 TEST=8 DRAWS=64 OPERATOR_DRAWS=16 SETTINGS="batch=8" OPERATOR_SETTINGS="batch=8" scripts/paper.sh darcy
#
# SCALE (1) is a share of the paper's epochs: 10 + 500 of a recipe, 100 of a decoder or an operator. DRAWS (of a
# recipe), HEAD_DRAWS, OPERATOR_DRAWS and AUXILIARY_DRAWS set numbers instead; those not set are a fifth of DRAWS.
# Called again, it does what is missing and goes on with what was interrupted. It stops in good order when it is told to
# (exit code 75), or by itself after MINUTES. A run that fails does not stop the others.
#
# Leaves in $OUT (results/paper): PDE/report.md with all tables, PDE/figures, PDE/RUN with each run's evaluation and
# configuration, and report.md of all problems that have runs. The page that it ends with is page.md there. A run whose
# evaluation is there is done, though its weights may be lost; Full is trained again where decoders on it are missing.
# PACKED gets all of it as one archive.
#
# PARTS ("recipes heads operators auxiliary") says what is trained, HEADS ("5m 10m 15m"), OPERATORS and AUXILIARY
# ("MODEL:RECIPE ...") which; MODEL (small); SETTINGS of recipes and heads (peak_rate=6e-4; none for MODEL=base, the
# paper's), OPERATOR_SETTINGS, AUXILIARY_SETTINGS; SEEDS of training ("1 2 3"; RUN is then NAME-seed-SEED, and report.md
# tells orderings over seeds); COUNT records (the paper's 50000, 14000 of the cylinder) and TEST (1000), RESOLUTION
# (128); JOBS trainings at a time (3 on a GPU, which then share it through CUDA's multi-process service); RUNS
# (WORK/paper) for runs; WORK, MINUTES and PACKED are those of scripts/session.sh; DEVICE (cuda); SCOPE (the program).
set -uo pipefail
set -m # Every job has a process group of its own, so that what tells it to stop reaches all of it.
problems=${1:?name a problem: darcy, poisson, helmholtz, ns, cylinder, some with commas between them, or all}; scale=${2:-1}
[ "$problems" != all ] || problems=poisson,helmholtz,darcy,ns,cylinder
IFS=, read -ra pdes <<<"$problems"
cd "$(dirname "$0")/.."
source scripts/session.sh
model=${MODEL:-small}; tested=${TEST:-1000}; runs=${RUNS:-$work/paper}; out=${OUT:-results/paper}
parts=" ${PARTS:-recipes heads operators auxiliary} "
read -ra heads <<<"${HEADS-5m 10m 15m}"; read -ra operators <<<"${OPERATORS-transolver cno fno deeponet}"
jobs=${JOBS:-$([ "$device" = cpu ] && echo 1 || echo 3)}
began=$SECONDS; running=(); wanted=(); generator=; watchdog=; service=
mkdir -p "$work" "$runs" "$out" || exit 1

epochs() { awk -v scale="$scale" -v epochs="$1" 'BEGIN { print epochs * scale }'; }
settings() { local setting; for setting in $1; do echo --set; echo "$setting"; done; }
mapfile -t recipe_settings < <(settings "${SETTINGS-$([ "$model" = base ] || echo peak_rate=6e-4)}")
mapfile -t operator_settings < <(settings "${OPERATOR_SETTINGS-}")
mapfile -t auxiliary_settings < <(settings "${AUXILIARY_SETTINGS-}")
if [ -n "${DRAWS:-}" ]; then
    recipe_length=(--draws "$DRAWS"); fifth=(--draws $(( DRAWS / 5 )))
else
    recipe_length=(--epochs "$(epochs 500)"); fifth=(--epochs "$(epochs 100)")
fi
head_length=("${fifth[@]}"); [ -z "${HEAD_DRAWS:-}" ] || head_length=(--draws "$HEAD_DRAWS")
operator_length=("${fifth[@]}"); [ -z "${OPERATOR_DRAWS:-}" ] || operator_length=(--draws "$OPERATOR_DRAWS")
auxiliary_length=("${operator_length[@]}"); [ -z "${AUXILIARY_DRAWS:-}" ] || auxiliary_length=(--draws "$AUXILIARY_DRAWS")
trained_with=(--device "$device" --keep 1 --log-every 100 --save-every 60 --resume)
read -ra seeds <<<"${SEEDS:-none}"

tell() { printf '%5d s  %s\n' $(( SECONDS - began )) "$*"; }
# The records of all problems, one after the other, beside the training of those before: a folder is there when it is whole.
generate() {
    local pde count
    for pde in "${pdes[@]}"; do
        # The paper has fewer records of the cylinder.
        count=${COUNT:-$([ "$pde" = cylinder ] && echo 14000 || echo 50000)}
        COUNT=$count training_records "$pde" && test_records "$pde" || return
    done
}
# Trains a run with the rest of the arguments and evaluates it; what happens is in RUN.log, and how it ended in a line.
job() { # PDE NAME PROTOCOLS COMMAND...
    local pde=$1 name=$2 protocols=$3 run=$runs/$1/$2 from=$SECONDS protocol; shift 3
    trap : TERM INT # The program itself saves its state and ends.
    {
        [ -f "$run/trained" ] || { "$scope" "$@" --out "$run" "${trained_with[@]}" && touch "$run/trained"; }
        [ ! -f "$run/trained" ] || for protocol in $protocols; do
            evaluated "$pde/$name" "$protocol" ||
                "$scope" evaluate --run "$run" --data "$work/$pde-test" --limit "$tested" --protocol "$protocol" --no-interpolation \
                    --device "$device"
        done
    } >>"$run.log" 2>&1 </dev/null
    is_done "$pde/$name" "$protocols" || { tell "$pde $name: not done, see $run.log"; return 1; }
    tell "$pde $name: done in $(( SECONDS - from )) s"
}
# Whether a run has an evaluation, in its folder or kept among the results.
evaluated() { [ -f "$runs/$1/eval/$2.json" ] || [ -f "$out/$1/$2.json" ]; } # PDE/NAME PROTOCOL
is_done() { # PDE/NAME PROTOCOLS
    local protocol
    for protocol in $2; do evaluated "$1" "$protocol" || return 1; done
}
# Begins a job, unless it is done; `last` is its process.
begin() { # PDE NAME PROTOCOLS COMMAND...
    last=; wanted+=("$1/$2:$3")
    is_done "$1/$2" "$3" || start "$@"
}
# Begins a job when there is room for it.
start() { # PDE NAME PROTOCOLS COMMAND...
    while :; do
        local alive=() pid
        for pid in "${running[@]}"; do ! kill -0 "$pid" 2>/dev/null || alive+=("$pid"); done
        running=("${alive[@]}")
        [ ${#running[@]} -ge "$jobs" ] || break
        wait -n "${running[@]}"
    done
    job "$@" & last=$!
    running+=("$last")
}
train() { # PDE
    local pde=$1 at=$work/$1-train quick=quick recipe operator seed ending
    local from=(train --pde "$pde" --data "$at") full=() own
    mkdir -p "$runs/$pde"
    # The heads under the cylinder's own condition have a table of the paper.
    [ "$pde" != cylinder ] || quick="quick benchmark"
    for seed in "${seeds[@]}"; do
        own=(); ending=
        [ "$seed" = none ] || { own=(--seed "$seed"); ending=-seed-$seed; }
        local as_recipe=(--model "$model" "${recipe_length[@]}" "${recipe_settings[@]}" "${own[@]}"); last=
        if [[ $parts == *" recipes "* || $parts == *" heads "* ]]; then
            begin "$pde" "full$ending" "$quick" "${from[@]}" --recipe full "${as_recipe[@]}"
            if [ -z "$last" ] && wants_heads "$pde" "$ending" "$quick" && [ ! -f "$runs/$pde/full$ending/trained" ]; then
                start "$pde" "full$ending" "$quick" "${from[@]}" --recipe full "${as_recipe[@]}"
            fi
            full+=("$last")
        fi
        if [[ $parts == *" recipes "* ]]; then
            for recipe in fjv fo; do
                begin "$pde" "$recipe$ending" quick "${from[@]}" --recipe $recipe "${as_recipe[@]}"
            done
        fi
        [[ $parts != *" operators "* ]] || for operator in "${operators[@]}"; do
            begin "$pde" "$operator$ending" quick "${from[@]}" --recipe operator --model "$operator" "${operator_length[@]}" \
                "${operator_settings[@]}" "${own[@]}"
        done
    done
    [[ $parts != *" auxiliary "* ]] || auxiliary "$pde"
    [[ $parts == *" heads "* ]] || return 0
    for last in "${full[@]}"; do [ -z "$last" ] || wait "$last"; done
    for seed in "${seeds[@]}"; do
        if [ "$seed" = none ]; then adapt "$pde" "" "$quick"; else adapt "$pde" "-seed-$seed" "$quick" --seed "$seed"; fi
    done
}
# The decoders of a problem: a name and a training view each.
decoders() {
    local head
    for head in "${heads[@]}"; do echo "sp-$head sparse $head"; done
    for head in "${heads[@]}"; do echo "dp-$head complete $head"; done
}
wants_heads() { # PDE ENDING PROTOCOLS
    local name rest
    [[ $parts == *" heads "* ]] || return 1
    while read -r name rest; do is_done "$1/$name$2" "$3" || return 0; done < <(decoders)
    return 1
}
# Replacement decoders on a Full run.
adapt() { # PDE ENDING PROTOCOLS ARGUMENTS...
    local pde=$1 ending=$2 quick=$3 name view head; shift 3
    if [ ! -f "$runs/$pde/full$ending/trained" ] && wants_heads "$pde" "$ending" "$quick"; then
        tell "$pde: no decoder is replaced, as full$ending is not trained"
        return 0
    fi
    while read -r name view head; do
        begin "$pde" "$name$ending" "$quick" adapt --base "$runs/$pde/full$ending" --data "$work/$pde-train" --head "$head" --view "$view" \
            "${head_length[@]}" "${recipe_settings[@]}" "$@"
    done < <(decoders)
}
# The paper's arms: FNO and DeepONet for all problems, U-Net and CNO for two, PINO for two, each with and without grounding.
auxiliary() { # PDE
    if ! "$scope" model info --model aux-fno >/dev/null 2>&1; then
        tell "$1: this program has no auxiliary operators, and they are left out"
        return 0
    fi
    local arms="aux-fno:auxiliary aux-fno:auxiliary-g aux-deeponet:auxiliary aux-deeponet:auxiliary-g" arm
    case $1 in
    poisson | ns) arms="$arms aux-unet:auxiliary aux-unet:auxiliary-g aux-cno:auxiliary aux-cno:auxiliary-g" ;;&
    poisson | helmholtz) arms="$arms aux-fno:pino aux-fno:pino-g aux-fno:pino-0.1 aux-fno:pino-g-0.1" ;;
    esac
    for arm in ${AUXILIARY-$arms}; do
        begin "$1" "${arm%:*}-${arm#*:}" auxiliary train --pde "$1" --data "$work/$1-train" --model "${arm%:*}" --recipe "${arm#*:}" \
            "${auxiliary_length[@]}" "${auxiliary_settings[@]}"
    done
}
# Keeps the evaluations of a run, with its configuration; whether it has any.
keep() { # PDE/NAME
    if [ -n "$(find "$runs/$1/eval" -name '*.json' -print -quit 2>/dev/null)" ]; then
        mkdir -p "$out/$1" && cp "$runs/$1"/eval/*.{json,npz} "$runs/$1/config.toml" "$out/$1/"
    fi
    [ -n "$(find "$out/$1" -name '*.json' -print -quit 2>/dev/null)" ]
}
# Writes tables and figures of what is evaluated, and the page.
report() {
    local pde run name all=() own
    for pde in darcy poisson helmholtz ns cylinder; do
        own=()
        # In the order of the paper's tables: operators, recipes, decoders.
        for name in cno transolver fno deeponet fo fjv full sp-5m sp-10m sp-15m dp-5m dp-10m dp-15m aux-; do
            for run in "$runs/$pde/$name"* "$out/$pde/$name"*; do
                [ -d "$run" ] || continue
                run=${run##*/}
                [[ " ${own[*]} " != *" $out/$pde/$run "* ]] || continue
                keep "$pde/$run" && own+=("$out/$pde/$run")
            done
        done
        [ ${#own[@]} -gt 0 ] || continue
        "$scope" report "${own[@]}" --out "$out/$pde/report.md" --figures "$out/$pde/figures" >/dev/null
        all+=("${own[@]}")
    done
    [ ${#all[@]} -gt 0 ] || { tell "nothing is evaluated yet"; return 0; }
    "$scope" report "${all[@]}" --tables all --out "$out/report.md" >/dev/null &&
        "$scope" report "${all[@]}" --tables main,orderings --out "$out/page.md" >/dev/null && cat "$out/page.md"
}
end() { # EXIT CODE
    local pid
    trap '' TERM INT
    for pid in "${running[@]}" $generator $watchdog; do kill -TERM -- "-$pid" 2>/dev/null; done
    for pid in "${running[@]}" $generator; do wait "$pid" 2>/dev/null; done
    [ -z "$service" ] || echo quit | nvidia-cuda-mps-control >/dev/null
    report
    hand_out paper "$out"
    exit "$1"
}
trap 'tell "stopping: what is running saves its state"; end 75' TERM INT

if [ "$device" != cpu ] && [ "$jobs" -gt 1 ] && command -v nvidia-cuda-mps-control >/dev/null && [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ]; then
    export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps
    if mkdir -p "$work/mps" && nvidia-cuda-mps-control -d; then service=yes; else unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY; fi
fi
[ -z "${DEADLINE:-}" ] || { { sleep "$(( $(left) > 0 ? $(left) : 0 ))" && kill -TERM $$; } & watchdog=$!; }
generate >>"$runs/data.log" 2>&1 </dev/null & generator=$!
for pde in "${pdes[@]}"; do
    until [ -d "$work/$pde-test" ]; do
        kill -0 "$generator" 2>/dev/null || { tell "no records of $pde, see $runs/data.log"; end 1; }
        sleep 1
    done
    train "$pde"
done
for pid in "${running[@]}"; do wait "$pid"; done
running=()
missing=()
for entry in "${wanted[@]}"; do is_done "${entry%%:*}" "${entry#*:}" || missing+=("${entry%%:*}"); done
[ ${#missing[@]} = 0 ] || tell "not done: ${missing[*]}; the same command goes on with them"
end $(( ${#missing[@]} > 0 ))
