#!/usr/bin/env bash
# Rules of faults, crash and pause from outside: the daemon's options and ringnfsctl.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
RINGNFSCTL=${RINGNFSCTL:-$(dirname "$RINGNFSD")/ringnfsctl}
[[ -x $RINGNFSCTL ]] || { echo "no $RINGNFSCTL: build it, or name it by \$RINGNFSCTL" >&2; exit 99; }

ctl() { timeout 30 "$RINGNFSCTL" --state-dir "$scratch/state" "$@"; }

# refuses PATTERN COMMAND...: it fails with one line that matches PATTERN.
refuses() {
    local pattern=$1 output
    shift
    output=$("$@" 2>&1) && fail "$*: taken: $output"
    [[ $output =~ $pattern ]] || fail "$*: nothing about $pattern: $output"
}

export_line='memory:/x *(rw,insecure,no_root_squash)'
start() { start_server -e "$export_line" "$@" || fail "does not start"; }

# The root's handle; nothing when it cannot be mounted.
root() { nfs mnt "$mount_port" /x; }
answers() { nfs mode "$nfs_port" "$1" >/dev/null 2>&1; }

case_rules_are_added_listed_and_cleared_while_it_runs() {
    local handle
    start --allow-faults
    handle=$(root) || fail "cannot be mounted"
    [[ $(ctl fault list) == "" ]] || fail "$(ctl fault list)"
    [[ $(ctl fault add 'when proc=GETATTR times=1 do error=IO') == 1 ]] || fail "another number"
    [[ $(ctl fault add 'when path=/x/f do delay=1ms') == 2 ]] || fail "another number"
    answers "$handle" && fail "no error"
    answers "$handle" || fail "more than one error"
    [[ $(ctl fault list) =~ " 1 "+" 2 "+" 1  when proc=GETATTR times=1 do error=IO" ]] || fail "$(ctl fault list)"
    python3 -c 'import json, sys
rules = json.load(sys.stdin)
assert rules[0] == {"number": 1, "matched": 2, "fired": 1, "rule": "when proc=GETATTR times=1 do error=IO"}, rules
assert rules[1]["number"] == 2' < <(ctl --json fault list) || fail "$(ctl --json fault list)"
    ctl fault clear 1 || fail "not cleared"
    refuses "there is no fault rule 1" ctl fault clear 1
    refuses "x is not the number of a rule" ctl fault clear x
    ctl fault clear || fail "not cleared"
    [[ $(ctl fault list) == "" ]] || fail "$(ctl fault list)"
}

case_a_wrong_rule_is_told_and_changes_nothing() {
    start --allow-faults
    refuses "did you mean silence" ctl fault add 'do sielnce'
    refuses "no call can match: /y/f is in none of the exports" ctl fault add 'when path=/y/f do stale'
    refuses "unknown command" ctl fault ad 'do stale'
    refuses "rule is missing" ctl fault add
    printf 'do stale\ndo nothing\n' >"$scratch/rules"
    refuses "rules, line 2: column 4" ctl fault load "$scratch/rules"
    [[ $(ctl fault list) == "" ]] || fail "$(ctl fault list)"
}

case_rules_come_from_the_command_line_and_from_files() {
    local handle
    printf '# for a test\nwhen proc=GETATTR nth=2 do error=IO\n\n' >"$scratch/rules"
    start --fault 'when proc=READ do stale' --faults "$scratch/rules"
    handle=$(root) || fail "cannot be mounted"
    answers "$handle" || fail "the first one failed"
    answers "$handle" && fail "the second one did not"
    [[ $(ctl fault load "$scratch/rules") == "1 rules" ]] || fail "not loaded"
    (cd "$scratch" && ctl fault load rules) || fail "not loaded by a relative name"
    [[ $(ctl fault list | wc -l) == 5 ]] || fail "$(ctl fault list)"
}

case_the_daemon_refuses_what_is_wrong_with_rules() {
    local check=("$RINGNFSD" --check -e "$export_line")
    refuses "--fault: column 4: unknown action nothing" "${check[@]}" --fault 'do nothing'
    refuses "--faults: $scratch/none: No such file" "${check[@]}" --faults "$scratch/none"
    refuses 'fault rule "when export=/y do stale": no call can match: /y is not exported' \
        timeout 20 "$RINGNFSD" --ephemeral -e "$export_line" --fault 'when export=/y do stale'
    "${check[@]}" --fault 'do stale' --allow-faults || fail "a good rule is refused"
}

case_a_server_that_was_not_started_for_it_has_no_faults() {
    start
    refuses "was not started for faults.*--allow-faults" ctl fault add 'do stale'
    refuses "was not started for faults" ctl fault list
    refuses "was not started for faults" ctl fault clear
    refuses "was not started for faults" ctl crash
    refuses "was not started for faults" ctl pause
    refuses "was not started for faults" ctl resume
}

case_a_server_pauses_and_goes_on() {
    local handle pid
    start --allow-faults
    handle=$(root) || fail "cannot be mounted"
    refuses "is not paused" ctl resume
    ctl pause || fail "no pause"
    refuses "is paused already" ctl pause
    ctl status >/dev/null || fail "it cannot be asked any more"
    answers "$handle" &
    pid=$!
    sleep 0.3
    kill -0 "$pid" 2>/dev/null || fail "it answers"
    ctl resume || fail "it does not go on"
    wait "$pid" || fail "no answer after the pause"
    ctl pause || fail "no second pause"
    stop_server TERM
    ((server_status == 0)) || fail "status $server_status: $(<"$scratch/server.log")"
}

case_a_crash_loses_what_was_not_committed() {
    local handle file
    start --allow-faults --set memory_unstable=on
    handle=$(root) || fail "cannot be mounted"
    file=$(nfs create "$nfs_port" "$handle" f) || fail "no file can be made"
    nfs write "$nfs_port" "$file" kept || fail "it cannot be written"
    ctl crash || fail "no crash"
    [[ $(nfs read "$nfs_port" "$file") == kept ]] || fail "what was stable is gone"
}

case_a_server_with_directories_does_not_crash() {
    mkdir "$scratch/dir"
    start_server -e "$scratch/dir *(rw)" --allow-faults || fail "does not start"
    refuses "only memory exports can crash: .*$scratch/dir" ctl crash
}

case_an_ephemeral_server_takes_faults() {
    mkdir "$scratch/tmp"
    TMPDIR=$scratch/tmp "$RINGNFSD" --ephemeral --print-ports -e "$export_line" >"$scratch/ports" 2>"$scratch/server.log" &
    server_pid=$!
    wait_for 20 ready_or_gone
    has_ports || fail "$(<"$scratch/server.log")"
    timeout 30 "$RINGNFSCTL" -d "$(echo "$scratch/tmp/"*)" fault add 'do silence' >/dev/null || fail "not added"
    stop_server
}

case_all_conditions_and_actions_are_in_the_help_and_the_manual_page() {
    local word
    "$RINGNFSD" --help-faults >"$scratch/help" || fail "status $?"
    "$RINGNFSD" --print-roff faults >"$scratch/roff" || fail "status $?"
    for word in proc client over export path name handle nth times probability seed delay error stale short-read short-write \
        full fail-flush verifier drop-reply tear duplicate reorder reset silence; do
        grep -q "^ *$word" "$scratch/help" || fail "--help-faults does not name $word"
        grep -q "^\\.B ${word//-/.*}" "$scratch/roff" || fail "the manual page does not name $word"
    done
}

run_cases
