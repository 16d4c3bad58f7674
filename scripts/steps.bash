# Sourced by scripts/test and .ci/run: a heading and the seconds for every step, one line at the end.
# shellcheck shell=bash

steps_run=0
steps_skipped=()
current_step=

# step TITLE COMMAND...: runs the command; its failure ends the script.
step() {
    current_step=$1
    shift
    local began=$SECONDS
    printf '\n==> %s\n' "$current_step"
    "$@"
    printf -- '--- %s: %d s\n' "$current_step" $((SECONDS - began))
    steps_run=$((steps_run + 1))
    current_step=
}

# skip TITLE REASON: says that a step was left out; the last line repeats it.
skip() {
    printf '\n==> %s\n--- skipped: %s\n' "$1" "$2"
    steps_skipped+=("$1")
}

# need COMMAND HOW: ends the script when a command is missing, and says how to get it.
need() {
    if ! command -v "$1" >/dev/null; then
        echo "$0: $1 is missing; $2" >&2
        exit 1
    fi
}

# summary NAME STATUS: the last line.
summary() {
    local skipped=
    if ((${#steps_skipped[@]})); then
        skipped=", skipped: $(IFS=,; echo "${steps_skipped[*]}")"
    fi
    # A signal ends a script in the middle of a step, with the status of what came before it.
    if (($2 == 0)) && [[ $current_step ]]; then
        printf '\n%s: STOPPED in "%s" after %d s%s\n' "$1" "$current_step" "$SECONDS" "$skipped" >&2
    elif (($2 == 0)); then
        printf '\n%s: ok, %d steps in %d s%s\n' "$1" "$steps_run" "$SECONDS" "$skipped"
    else
        printf '\n%s: FAILED%s after %d s (status %d)%s\n' \
            "$1" "${current_step:+ in \"$current_step\"}" "$SECONDS" "$2" "$skipped" >&2
    fi
}
