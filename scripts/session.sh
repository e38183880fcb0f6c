#!/usr/bin/env bash
# What the scripts that train on a GPU have in common: where things are, how long they may take, and results in few
# files. Sourced by them, from the root of the repository.
#
# WORK (default: /tmp/scope-work) holds records and runs: gigabytes that may be lost. Results are small; each script
# names their folder, and what is finished there is not done again, on another machine either.
#
# MINUTES, if set, is how long a script may take: what is running then saves its state, results are handed out, and the
# exit code is 75. The same call goes on. A script that another one starts keeps to the earlier end of both.
#
# PACKED, if set, is a folder that gets the results as NAME.tar.gz, or as NAME.tar.gz.0, .1, ... of at most 15 MB each,
# for machines that give back few files: `cat NAME.tar.gz* | tar -xz` in the folder of another checkout puts them back
# where they were.

scope=${SCOPE:-target/release/scope}; device=${DEVICE:-cuda}; work=${WORK:-/tmp/scope-work}
if [ -n "${MINUTES:-}" ]; then
    end=$(awk -v now="$(date +%s)" -v minutes="$MINUTES" 'BEGIN { printf "%d", now + 60 * minutes }')
    [ -n "${DEADLINE:-}" ] && [ "$DEADLINE" -lt "$end" ] || DEADLINE=$end
    export DEADLINE; unset MINUTES
fi
# The status of a script that its limit has stopped: that of the program.
stopped=75

# The seconds that are left; a day where there is no limit.
left() { echo $(( ${DEADLINE:-$(( $(date +%s) + 86400 ))} - $(date +%s) )); }

# Runs a command for as long as there is time, and then tells it to save its state.
timed() { limited --foreground "$@"; } # COMMAND...
# The same for a script: all that it has started is told too.
timed_script() { limited --preserve-status "$@"; } # SCRIPT...
limited() { # OPTION-OF-TIMEOUT COMMAND...
    local option=$1 seconds ended=0; shift
    [ -n "${DEADLINE:-}" ] || { "$@"; return; }
    seconds=$(left)
    if [ "$seconds" -gt 0 ]; then
        timeout "$option" --preserve-status --signal TERM --kill-after 30 "$seconds" "$@" || ended=$?
        [ "$(left)" -le 0 ] && [ "$ended" -ne 0 ] || return "$ended"
    fi
    echo "the time is over: the same call goes on" >&2
    return $stopped
}

# The records of a problem, made where they are missing; who else wants them meanwhile waits for them.
records() ( # PDE SPLIT COUNT SEED FOLDER
    [ ! -d "$5" ] || exit 0
    flock 9
    [ -d "$5" ] || timed nice -n 10 "$scope" data generate "$1" --split "$2" --count "$3" --seed "$4" \
        --resolution "${RESOLUTION:-128}" --out "$5" 9>&-
) 9>"$5.lock"
training_records() { records "$1" train "${COUNT:-50000}" 20260913 "$work/$1-train"; } # PDE
test_records() { records "$1" test "${TEST:-1000}" 20261013 "$work/$1-test"; } # PDE

# Lets programs find NCCL where Python has it as NVIDIA's wheel, which PyTorch brings.
with_nccl() {
    wheel=$(python3 -c 'import glob, importlib.util, os
found = importlib.util.find_spec("nvidia")
folders = list(found.submodule_search_locations) if found else []
print(next((os.path.dirname(path) for folder in folders for path in glob.glob(folder + "/*/lib/libnccl.so*")), ""))') || wheel=
    export LD_LIBRARY_PATH="${wheel:+$wheel${LD_LIBRARY_PATH:+:}}${LD_LIBRARY_PATH:-}"
}

# Hands results out, if there is a folder for them: files and folders, by their paths from here.
hand_out() { # NAME PATH...
    local name=$1 path found=(); shift
    for path in "$@"; do [ ! -e "$path" ] || found+=("$path"); done
    [ -n "${PACKED:-}" ] && [ ${#found[@]} -gt 0 ] || return 0
    mkdir -p "$PACKED" && tar -czf "$PACKED/.$name" "${found[@]}" 2>/dev/null || return
    rm -f "$PACKED/$name".tar.gz "$PACKED/$name".tar.gz.?
    if [ "$(stat -c %s "$PACKED/.$name")" -le 15000000 ]; then
        mv "$PACKED/.$name" "$PACKED/$name.tar.gz"
    else
        split -d -a 1 -b 15000000 "$PACKED/.$name" "$PACKED/$name.tar.gz." && rm "$PACKED/.$name"
    fi
}
