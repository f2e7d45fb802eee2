#!/usr/bin/env bash
# ringnfsctl and the daemon: what it tells, and exports that change while clients are at work.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
RINGNFSCTL=${RINGNFSCTL:-$(dirname "$RINGNFSD")/ringnfsctl}
[[ -x $RINGNFSCTL ]] || { echo "no $RINGNFSCTL: build it, or name it by \$RINGNFSCTL" >&2; exit 99; }

ctl() { timeout 30 "$RINGNFSCTL" --state-dir "$scratch/state" "$@"; }

# refuses STATUS PATTERN WORD...: ringnfsctl ends with STATUS and one line that matches PATTERN.
refuses() {
    local want=$1 pattern=$2 status=0 output
    shift 2
    output=$(ctl "$@" 2>&1) || status=$?
    [[ $status == "$want" ]] || fail "ringnfsctl $*: status $status, not $want: $output"
    [[ $(wc -l <<<"$output") == 1 ]] || fail "ringnfsctl $*: more than one line: $output"
    [[ $output =~ $pattern ]] || fail "ringnfsctl $*: nothing about $pattern: $output"
}

# A server of $scratch/one by way of $scratch/exports.
start_with_file() {
    mkdir -p "$scratch"/{one,two}
    echo "$scratch/one *(rw,insecure,no_root_squash)" >"$scratch/exports"
    start_server -E "$scratch/exports" "$@" || fail "does not start"
}

mounts() { nfs mnt "$mount_port" "$1" >/dev/null 2>&1; }
answers() { nfs mode "$nfs_port" "$1" >/dev/null 2>&1; }

# field NAME: out of the JSON on standard input; names of objects within objects are joined by dots.
field() {
    python3 -c 'import functools, json, sys
print(functools.reduce(lambda value, name: value[name], sys.argv[1].split("."), json.load(sys.stdin)))' "$1"
}

case_status_and_stats_are_told() {
    local handle
    start_with_file --threads 5
    handle=$(nfs mnt "$mount_port" "$scratch/one") || exit 1
    answers "$handle" || fail "no answer"
    [[ $(ctl --json status | field pid) == "$server_pid" ]] || fail "another pid: $(ctl --json status)"
    [[ $(ctl --json status | field ports.nfs) == "$nfs_port" ]] || fail "another port: $(ctl --json status)"
    [[ $(ctl --json status | field pool.threads) == 5 ]] || fail "other threads: $(ctl --json status)"
    [[ $(ctl --json stats | field nfs3.GETATTR.calls) == 1 ]] || fail "other calls: $(ctl --json stats)"
    [[ $(ctl --json stats | field mounts) == 1 ]] || fail "other mounts: $(ctl --json stats)"
    [[ $(ctl status) == *"pid $server_pid"* ]] || fail "$(ctl status)"
    [[ $(ctl stats) == *GETATTR* ]] || fail "$(ctl stats)"
}

case_settings_are_changed_while_it_runs() {
    start_with_file
    ctl set threads 3 || fail "not set"
    [[ $(ctl show threads) == "* threads = 3" ]] || fail "$(ctl show threads)"
    [[ $(ctl show | wc -l) -gt 20 ]] || fail "$(ctl show)"
    refuses 1 "only at the start" set port 1
    refuses 1 "out of range" set threads 100000
    refuses 1 "did you mean threads" set treads 3
}

case_a_reload_takes_effect_with_the_next_call() {
    local handle i
    start_with_file
    handle=$(nfs mnt "$mount_port" "$scratch/one") || exit 1
    for i in 1 2 3 4 5; do
        echo "$scratch/two *(rw,insecure)" >"$scratch/exports"
        ctl exports reload >/dev/null || fail "reload $i fails"
        ! answers "$handle" || fail "a handle of a withdrawn export is answered"
        mounts "$scratch/two" || fail "the new export cannot be mounted"
        echo "$scratch/one *(rw,insecure)" >"$scratch/exports"
        ctl exports reload >/dev/null || fail "reload $i back fails"
        answers "$handle" || fail "a handle is lost over a reload"
    done
}

case_a_broken_file_changes_nothing_and_is_named() {
    local handle
    start_with_file
    handle=$(nfs mnt "$mount_port" "$scratch/one") || exit 1
    printf '%s *(rw)\n%s *(rw,frob)\n' "$scratch/two" "$scratch/one" >"$scratch/exports"
    refuses 1 "exports:2:[0-9]+: unknown option frob" exports reload
    refuses 1 "exports:2:[0-9]+: unknown option frob" exports check "$scratch/exports"
    refuses 1 "exports:2:[0-9]+: unknown option frob" exports diff
    answers "$handle" || fail "the old exports are gone"
    ! mounts "$scratch/two" || fail "half of the file is in force"
    [[ $(ctl status) == *"refused: "*frob* ]] || fail "status does not tell: $(ctl status)"
    grep -q "stay as they were.*frob" "$scratch/server.log" || fail "not logged: $(<"$scratch/server.log")"
}

case_check_tells_all_mistakes_of_a_file() {
    local status=0
    start_with_file
    printf 'a *\n%s *(rw,frob,nohide=1)\n' "$scratch/one" >"$scratch/new"
    ctl exports check "$scratch/new" 2>"$scratch/said" || status=$?
    ((status == 1)) || fail "status $status"
    [[ $(sed -E 's/[^ ]*new:([0-9]+):[0-9]+:/\1/' "$scratch/said") == "ringnfsctl: 1 a is not an absolute path
ringnfsctl: 2 unknown option frob
ringnfsctl: 2 option nohide takes no value" ]] || fail "$(<"$scratch/said")"
}

case_calls_go_on_over_reloads() {
    local handle load i
    start_with_file
    handle=$(nfs mnt "$mount_port" "$scratch/one") || exit 1
    handle=$(nfs create "$nfs_port" "$handle" loaded) || exit 1
    nfs load "$nfs_port" "$handle" 2>"$scratch/load.log" & load=$!
    for i in {1..40}; do
        ctl exports reload >/dev/null || fail "reload $i fails"
        ctl exports add "$scratch/two *(ro,insecure)" >/dev/null || fail "add $i fails"
        ctl exports remove "$scratch/two" >/dev/null || fail "remove $i fails"
    done
    kill -0 "$load" || fail "the calls ended: $(<"$scratch/load.log")"
    answers "$handle" || fail "no answer"
    [[ $(ctl --json stats | field nfs3.WRITE.failed) == 0 ]] || fail "writes failed: $(ctl stats)"
    stop_server
    wait "$load" || fail "calls were refused: $(<"$scratch/load.log")"
    ((server_status == 0)) || fail "status $server_status: $(<"$scratch/server.log")"
}

case_exports_are_added_and_removed() {
    local handle
    start_with_file
    handle=$(nfs mnt "$mount_port" "$scratch/one") || exit 1
    ! mounts "$scratch/two" || fail "/two can be mounted already"
    ctl exports add "$scratch/two *(rw,insecure)" >/dev/null || fail "not added"
    mounts "$scratch/two" || fail "/two cannot be mounted"
    ctl exports remove "$scratch/one" >/dev/null || fail "not removed"
    ! answers "$handle" || fail "/one is still answered"
    ctl exports reload >/dev/null || fail "no reload"
    mounts "$scratch/two" || fail "/two is lost with a reload"
    ! answers "$handle" || fail "/one is back with a reload"
    refuses 1 "is not exported" exports remove "$scratch/one"
    refuses 1 "unknown option frob" exports add "$scratch/one *(frob)"
    refuses 1 "$scratch/none" exports add "$scratch/none *(rw)"
    ctl exports add "$scratch/one *(rw,insecure)" >/dev/null || fail "not added again"
    answers "$handle" || fail "/one is not answered again"
    ctl exports remove "$scratch/two" >/dev/null || fail "not removed"
    ! mounts "$scratch/two" || fail "/two can still be mounted"
}

case_a_path_with_a_space_is_removed_as_it_is_shown() {
    local shown
    start_with_file
    mkdir "$scratch/my photos"
    ctl exports add "\"$scratch/my photos\" *(ro,insecure)" >/dev/null || fail "not added"
    shown=$(ctl --json exports show | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["path"])')
    [[ $shown == "$scratch/my\\040photos" ]] || fail "shown as $shown"
    ctl exports remove "$shown" >/dev/null || fail "not removed"
    ! mounts "$scratch/my photos" || fail "still there"
}

case_what_is_added_is_gone_after_a_restart() {
    start_with_file
    ctl exports add "$scratch/two *(rw,insecure)" >/dev/null || fail "not added"
    stop_server
    start_server -E "$scratch/exports" || fail "does not start again"
    ! mounts "$scratch/two" || fail "/two is still there"
}

case_diff_tells_before_anything_changes() {
    local before
    start_with_file
    before=$(ctl exports show)
    printf '%s 127.0.0.1(ro) *(ro,insecure,no_root_squash)\n%s *(ro)\n' "$scratch"/{one,two} >"$scratch/new"
    (cd "$scratch" && ctl exports diff new) >"$scratch/diff" || fail "status $?"
    grep -qF "+ $scratch/one 127.0.0.1(" "$scratch/diff" || fail "no added client: $(<"$scratch/diff")"
    grep -qF "! $scratch/one *: rw -> ro" "$scratch/diff" || fail "no changed client: $(<"$scratch/diff")"
    grep -qF "+ $scratch/two *(" "$scratch/diff" || fail "no added export: $(<"$scratch/diff")"
    echo "$scratch/one 10.0.0.0/8 10.0.0.0/24(rw)" >"$scratch/exports"
    ctl exports reload >/dev/null || fail "not reloaded"
    echo "$scratch/one 10.0.0.0/24(rw) 10.0.0.0/8" >"$scratch/new"
    [[ $(ctl exports diff "$scratch/new") == "! $scratch/one order: 10.0.0.0/8 10.0.0.0/24 -> 10.0.0.0/24 10.0.0.0/8" ]] ||
        fail "another order: $(ctl exports diff "$scratch/new")"
    echo "$scratch/one *(rw,insecure,no_root_squash)" >"$scratch/exports"
    ctl exports reload >/dev/null || fail "not reloaded"
    echo "$scratch/two *(ro)" >"$scratch/new"
    grep -qF -- "- $scratch/one *(" <<<"$(ctl exports diff "$scratch/new")" || fail "no removed export"
    [[ $(ctl exports diff) == "nothing would change" ]] || fail "$(ctl exports diff)"
    [[ $(ctl exports show) == "$before" ]] || fail "something has changed"
    ctl --json exports diff "$scratch/new" | python3 -m json.tool >/dev/null || fail "no JSON"
}

case_show_has_the_shape_of_exportfs() {
    start_with_file
    ctl exports add "memory:/m 10.0.0.0/8(ro)" >/dev/null || fail "not added"
    cat >"$scratch/want" <<END
$scratch/one
		<world>(sync,wdelay,hide,no_subtree_check,sec=sys,rw,insecure,no_root_squash,no_all_squash)
memory:/m     	10.0.0.0/8(sync,wdelay,hide,no_subtree_check,sec=sys,ro,secure,root_squash,no_all_squash)
END
    ctl exports show | sort >"$scratch/have"
    sort "$scratch/want" | diff - "$scratch/have" || fail "another shape"
}

case_mistakes_in_the_command_line_are_named() {
    refuses 2 "unknown command frobnicate" frobnicate
    refuses 2 "did you mean exports show" exports shwo
    refuses 2 "no command"
    refuses 2 "line is missing" exports add
    refuses 2 "unexpected argument more" status more
    refuses 2 frob --frob status
    refuses 1 "nowhere" exports check nowhere
}

case_without_a_server_the_status_is_3() {
    refuses 3 "no server answers" status
    mkdir -p "$scratch/state"
    refuses 3 "no server answers" status
    start_with_file
    stop_server KILL
    refuses 3 "no server answers" status
    start_server -E "$scratch/exports" || fail "does not start over a socket that was left behind"
    ctl status >/dev/null || fail "no answer"
}

case_a_second_server_leaves_the_firsts_socket_alone() {
    local first
    start_with_file
    first=$server_pid
    start_server -E "$scratch/exports" && fail "a second one has started"
    grep -q "another server (pid $first)" "$scratch/server.log" || fail "not named: $(<"$scratch/server.log")"
    server_pid=$first
    [[ $(ctl --json status | field pid) == "$first" ]] || fail "the first does not answer"
}

case_an_ordinary_user_controls_his_own_server_and_no_other() {
    root_only
    start_with_file
    chmod 755 "$scratch/state"
    cp "$RINGNFSCTL" "$scratch/ringnfsctl"
    as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
    as_nobody "$scratch/ringnfsctl" -d "$scratch/state" status 2>"$scratch/refusal" && fail "he may control root's"
    grep -q "only root" "$scratch/refusal" || fail "$(<"$scratch/refusal")"
    stop_server
    chown -R 65534:65534 "$scratch"/{one,state}
    cp "$RINGNFSD" "$scratch/ringnfsd"
    launch setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/ringnfsd" -p 0 -a 127.0.0.1 \
        -E "$scratch/exports" || fail "his own does not start"
    grep -q "every caller acts as user 65534" <<<"$(as_nobody "$scratch/ringnfsctl" -d "$scratch/state" status)" ||
        fail "he may not control his own"
    ctl status >/dev/null || fail "root may not control it"
}

case_every_command_is_in_the_help_and_the_manual_page() {
    local command
    "$RINGNFSCTL" --help >"$scratch/help" || fail "status $?"
    "$RINGNFSCTL" --print-roff commands >"$scratch/roff" || fail "status $?"
    for command in status stats "show \\[KEY\\]" "set KEY VALUE" "exports show" "exports reload" "exports check FILE" \
        "exports diff \\[FILE\\]" "exports add LINE" "exports remove PATH"; do
        grep -q "$command" "$scratch/help" || fail "--help does not name $command"
        grep -q "${command%% [A-Z\\]*}" "$scratch/roff" || fail "the manual page does not name $command"
    done
    [[ $("$RINGNFSCTL" --version) == "ringnfsctl "* ]] || fail "$("$RINGNFSCTL" --version)"
}

run_cases
