#!/usr/bin/env bash
# ringnfsctl restart: clients notice nothing, no call is done twice, and whatever goes wrong, one server serves.
# $RESTART_ROUNDS: restarts under load (10); $RESTART_FIGURES: a file that gets a line about each load.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
RINGNFSCTL=${RINGNFSCTL:-$(dirname "$RINGNFSD")/ringnfsctl}
[[ -x $RINGNFSCTL ]] || { echo "no $RINGNFSCTL: build it, or name it by \$RINGNFSCTL" >&2; exit 99; }

ctl=(timeout 60 "$RINGNFSCTL" --state-dir)
ctl() { "${ctl[@]}" "${state_dir:-$scratch/state}" "$@"; }
client() { python3 "$daemon_tests/restart.py" "$@"; }

# running PID: zombies do not count, whoever has to reap them.
running() { [[ $(awk '{ sub(/.*\) /, ""); print $1 }' "/proc/$1/stat" 2>/dev/null) == [A-YT] ]]; }
not_running() { ! running "$1"; }
server_now() { cat "${state_dir:-$scratch/state}/control.lock"; }

# The server that is now there ends with the case; the shell knows the first one only.
end_server() {
    local pid
    pid=$(server_now) || return
    kill -TERM "$pid" 2>/dev/null
    wait_for 10 not_running "$pid" || { kill -KILL "$pid"; echo "process $pid did not end"; return 1; }
}

# A server of $scratch/shared with what is in $scratch/exports.
start() {
    mkdir -p "$scratch/shared"
    echo "$scratch/shared *(rw,insecure,no_root_squash,no_subtree_check)" >"$scratch/exports"
    start_server -E "$scratch/exports" "$@" || fail "does not start"
    trap 'end_server; cleanup' EXIT
    first_pid=$server_pid
    root=$(nfs mnt "$nfs_port" "$scratch/shared") || exit 1
}

# restart: sets pid, and there must be another one than before.
restart() {
    local before
    before=$(server_now)
    ctl restart >/dev/null || fail "no restart: $(<"$scratch/server.log")"
    pid=$(server_now)
    [[ $pid != "$before" ]] || fail "the same process"
    wait_for 10 not_running "$before" || fail "process $before does not end"
}

serves() { nfs mode "$nfs_port" "$root" >/dev/null; }
log() { cat "$scratch/server.log"; }

# under_load ROUNDS COMMAND...: the command again and again while clients work; they must not notice.
under_load() {
    local rounds=$1 status=0 load
    shift
    client load "$nfs_port" "$root" "$scratch/stop" >"$scratch/load" 2>&1 &
    load=$!
    sleep 0.5
    for ((i = 0; i < rounds; i++)); do
        "$@" || { touch "$scratch/stop"; wait "$load"; fail "round $i: $(log)"; }
        sleep 0.2
    done
    touch "$scratch/stop"
    wait "$load" || status=$?
    ((status == 0)) || fail "$(<"$scratch/load") $(log)"
    [[ -z $(ls -A "$scratch/shared") ]] || fail "left: $(ls -A "$scratch/shared")"
    awk '{ sub(",", "", $2); exit !($2 > 100) }' "$scratch/load" || fail "too little work: $(<"$scratch/load")"
    [[ -z ${RESTART_FIGURES:-} ]] || cat "$scratch/load" >>"$RESTART_FIGURES"
}

case_clients_under_load_see_nothing_of_restarts() {
    start
    under_load "${RESTART_ROUNDS:-10}" restart
}

case_the_same_with_the_pool_and_other_numbers_of_workers() {
    echo "engine = pool" >"$scratch/conf"
    start -c "$scratch/conf"
    other_workers() { echo "workers = $((RANDOM % 4 + 1))" >"$scratch/conf"; restart; }
    under_load 6 other_workers
}

case_calls_that_are_sent_again_are_answered_from_the_cache() {
    start
    client replay "$nfs_port" "$root" "${ctl[@]}" "$scratch/state" restart || fail "$(log)"
}

case_half_a_call_is_completed_with_the_next_server() {
    start
    client halves "$nfs_port" "$root" "${ctl[@]}" "$scratch/state" restart || fail "$(log)"
}

case_replies_that_were_not_taken_come_from_the_next_server() {
    local file
    start
    python3 -c 'import struct, sys
for place in range(8):
    sys.stdout.buffer.write(struct.pack(">Q", place) * 131072)' >"$scratch/shared/file"
    file=$(nfs lookup "$nfs_port" "$root" file) || exit 1
    client unread "$nfs_port" "$file" "${ctl[@]}" "$scratch/state" restart || fail "$(log)"
}

case_ports_handles_and_lists_stay() {
    local file port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    start -m "$port"
    [[ $mount_port == "$port" ]] || fail "another port for MOUNT"
    port=$nfs_port
    file=$(nfs create "$nfs_port" "$root" file) || exit 1
    mounted() { ctl --json stats | python3 -c 'import json, sys; print(json.load(sys.stdin)["mounts"])'; }
    [[ $(mounted) == 1 ]] || fail "not in the MOUNT list before"
    restart
    [[ $(ctl status) == *"NFS $port, MOUNT $mount_port"* ]] || fail "other ports: $(ctl status)"
    nfs mode "$nfs_port" "$file" >/dev/null || fail "the handle is lost"
    [[ $(mounted) == 1 ]] || fail "the MOUNT list is lost"
    restart
    [[ $(mounted) == 1 ]] || fail "the MOUNT list is lost the second time"
    nfs umnt "$mount_port" "$scratch/shared" || exit 1
    restart
    [[ $(mounted) == 0 ]] || fail "an unmount is forgotten"
}

case_files_are_read_again_and_what_was_changed_by_hand_is_kept() {
    mkdir "$scratch"/{added,later}
    start
    ctl exports add "$scratch/added *(rw,insecure)" >/dev/null || fail "not added"
    echo "$scratch/later *(rw,insecure)" >>"$scratch/exports"
    restart
    nfs mnt "$nfs_port" "$scratch/later" >/dev/null || fail "what the file says is not exported"
    nfs mnt "$nfs_port" "$scratch/added" >/dev/null || fail "what was added is not exported any more"
    ctl exports remove "$scratch/later" >/dev/null || fail "not removed"
    restart
    ! nfs mnt "$nfs_port" "$scratch/later" >/dev/null 2>&1 || fail "what was removed is back"
    nfs mnt "$nfs_port" "$scratch/added" >/dev/null || fail "what was added is lost the second time"
}

# goes_on PATTERN: a restart is refused, the reason told, and the same process serves.
goes_on() {
    local before output
    before=$(server_now)
    output=$(ctl restart 2>&1) && fail "restarted: $output"
    [[ $output == *$1* ]] || fail "nothing about $1: $output"
    [[ $(server_now) == "$before" ]] && running "$before" || fail "another process: $output"
    serves || fail "it does not serve any more"
    [[ $(ctl status) == *"pid $before"* ]] || fail "$(ctl status)"
}

case_a_mistake_in_the_exports_is_told_and_the_old_server_goes_on() {
    start
    echo "$scratch/shared *(frob)" >"$scratch/exports"
    goes_on "unknown option frob"
    echo "$scratch/nowhere *(rw)" >"$scratch/exports"
    goes_on "nowhere"
    echo "$scratch/shared *(rw,insecure,no_root_squash)" >"$scratch/exports"
    restart
    serves || fail "not after the mistake was mended"
}

case_a_mistake_in_the_settings_is_told_and_the_old_server_goes_on() {
    echo "threads = 4" >"$scratch/conf"
    start -c "$scratch/conf"
    echo "treads = 4" >"$scratch/conf"
    goes_on "did you mean threads"
    rm "$scratch/conf"
    goes_on "conf"
}

case_a_program_that_is_gone_or_another_one_is_told() {
    start_own
    mv "$scratch/ringnfsd" "$real"
    goes_on "cannot be run"
    replace_program false
    goes_on "has ended before it served"
    mv "$real" "$scratch/ringnfsd"
    restart
    serves || fail "not with the program back"
}

case_only_one_restart_at_a_time() {
    local one two status=0
    start_own
    replace_program "sh -c 'sleep 2; exec \"\$0\" \"\$@\"' $real \"\$@\""
    ctl restart >"$scratch/one" 2>&1 & one=$!
    sleep 0.5
    two=$(ctl restart 2>&1) && fail "a second one was begun: $two"
    [[ $two == *"under way"* ]] || fail "$two"
    two=$(ctl exports reload 2>&1) && fail "exports were read meanwhile"
    wait "$one" || status=$?
    ((status == 0)) || fail "$(<"$scratch/one")"
    serves
}

# replace_program COMMAND: what is started in the place of the server's program; its arguments follow. The real one: $real.
replace_program() {
    [[ -e $real ]] || mv "$scratch/ringnfsd" "$real"
    printf '#!/bin/sh\nexec %s\n' "$1" >"$scratch/ringnfsd"
    chmod +x "$scratch/ringnfsd"
}

# A server whose program may be replaced.
start_own() {
    cp "$RINGNFSD" "$scratch/ringnfsd"
    RINGNFSD=$scratch/ringnfsd real=$scratch/real
    start
}

case_a_new_server_that_dies_leaves_the_old_one() {
    local step
    start_own
    die() { ! ctl restart >"$scratch/out" 2>&1 && running "$first_pid"; }
    for step in offer ready state; do
        replace_program "python3 $daemon_tests/restart.py pretend $step"
        rm -f "$scratch/stop"
        # ThreadSanitizer does not see that open_by_handle_at(2) gives a number which another thread has closed.
        if [[ -n ${TSAN_OPTIONS:-} ]]; then die || fail "after $step"; else under_load 4 die; fi
        grep -q "ended before it served" "$scratch/out" || fail "after $step: $(<"$scratch/out")"
        goes_on "ended before it served"
    done
    # Nothing that the attempts have left keeps the next one from being good.
    mv "$real" "$scratch/ringnfsd"
    rm -f "$scratch/stop" "$scratch"/shared/*
    under_load 2 restart
}

case_an_old_server_that_is_killed_midway_is_followed_all_the_same() {
    start_own
    replace_program "python3 $daemon_tests/restart.py kill $server_pid $real \"\$@\""
    ctl restart >/dev/null 2>&1 && fail "who has answered?"
    wait_for 10 not_running "$server_pid" || fail "it was not killed"
    wait_for 10 serves || fail "nobody serves: $(log)"
    [[ $(log) == *"has died while it was handing over"* ]] || fail "$(log)"
    [[ $(ctl status) == *"pid $(server_now)"* ]] || fail "$(ctl status)"
}

# The sockets, the connections and the replay cache are the new server's by then, and only it has them.
case_an_old_server_that_is_killed_with_its_state_sent_is_followed_and_clients_see_nothing() {
    start_own
    replace_program "python3 $daemon_tests/restart.py between $server_pid $real \"\$@\""
    die() { ! ctl restart >/dev/null 2>&1 && wait_for 10 not_running "$server_pid"; }
    under_load 1 die
    [[ $(log) != *"has died while it was handing over"* ]] || fail "its state was not taken: $(log)"
    wait_for 10 followed || fail "no control socket: $(log)"
    serves || fail "nobody serves: $(log)"
    restart                                              # of $real, which it has been started as
    serves || fail "not after another restart"
}
followed() { [[ $(ctl status 2>/dev/null) == *"pid $(server_now)"* ]] && [[ $(server_now) != "$server_pid" ]]; }

case_what_another_version_offers_or_hands_over_is_refused_and_the_old_server_goes_on() {
    local what
    start_own
    for what in offer state; do
        replace_program "python3 $daemon_tests/restart.py between $what $real \"\$@\""
        rm -f "$scratch/stop"
        refused() { ! ctl restart >"$scratch/out" 2>&1 && running "$first_pid"; }
        under_load 2 refused
        grep -q "is of another version of ringnfs: stop the old server and start the new one" "$scratch/out" ||
            fail "$what: $(<"$scratch/out")"
        goes_on "another version"
    done
    mv "$real" "$scratch/ringnfsd"
    restart
    serves || fail "not with the right version"
}

case_sigterm_ends_the_new_server_as_any_other() {
    start
    restart
    kill -TERM "$pid"
    wait_for 10 not_running "$pid" || fail "it does not end"
    [[ ! -e $scratch/state/control ]] || fail "the control socket is left"
    ! nfs null "$nfs_port" 2>/dev/null || fail "somebody serves"
    wait_for 10 no_starter || fail "a starter is left"
}
no_starter() { ! pgrep -f -- "$scratch/exports" >/dev/null; }

case_the_old_server_ends_with_0_and_leaves_the_socket() {
    start
    ctl restart >/dev/null || fail "$(log)"
    wait "$first_pid" || fail "status $?"
    [[ -S $scratch/state/control ]] || fail "no control socket"
    serves
}

case_an_ordinary_user_restarts_his_server() {
    root_only
    mkdir -p "$scratch"/{shared,state}
    chown 65534:65534 "$scratch"/{shared,state}
    cp "$RINGNFSD" "$scratch/ringnfsd"
    launch setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/ringnfsd" -p 0 -a 127.0.0.1 \
        -e "$scratch/shared *(rw,insecure,no_subtree_check)" || fail "does not start"
    trap 'end_server; cleanup' EXIT
    root=$(nfs mnt "$nfs_port" "$scratch/shared") || exit 1
    under_load 4 restart
    [[ $(awk '/^Uid:/ { print $2 }' "/proc/$pid/status") == 65534 ]] || fail "another user's"
}

# In a network and with an rpcbind of its own.
case_rpcbind_knows_of_it_all_the_time() {
    root_only
    command -v rpcbind rpcinfo >/dev/null || skip "needs rpcbind and rpcinfo"
    mkdir -p "$scratch/shared"
    # shellcheck disable=SC2016    # the inner shell's
    timeout 60 unshare --net --mount --pid --fork --kill-child --mount-proc bash -c '
        RINGNFSD=$1 RINGNFSCTL=$2 scratch=$3
        ip link set lo up && mount -t tmpfs none /run && rpcbind || exit 1
        registered() { rpcinfo -p 127.0.0.1 | grep -c 100003; }
        for ((i = 0; i < 100; i++)); do registered >/dev/null 2>&1; (($? < 2)) && break; sleep 0.1; done
        "$RINGNFSD" -f -p 2049 --rpcbind system --set state_dir="$scratch/state" -e "$scratch/shared *(rw,insecure)" \
            2>"$scratch/server.log" &
        for ((i = 0; i < 100; i++)); do [[ $(registered) == 2 ]] && break; sleep 0.1; done
        rpcinfo | sort >"$scratch/before"
        (while [[ ! -e $scratch/stop ]]; do registered; done) >"$scratch/seen" & watch=$!
        for i in 1 2 3; do "$RINGNFSCTL" --state-dir "$scratch/state" restart || exit 1; done
        touch "$scratch/stop"
        wait "$watch"
        rpcinfo | sort >"$scratch/after"
        kill "$(<"$scratch/state/control.lock")"
        for ((i = 0; i < 100; i++)); do [[ $(registered) == 0 ]] && exit 0; sleep 0.1; done
        exit 1' bash "$RINGNFSD" "$RINGNFSCTL" "$scratch" || fail "$(log)"
    grep -q "\.8\.1 .*nfs" "$scratch/before" || fail "not registered: $(<"$scratch/before")"
    [[ $(sort -u "$scratch/seen") == 2 ]] || fail "not there for a while: $(sort "$scratch/seen" | uniq -c)"
    cmp "$scratch/before" "$scratch/after" || fail "other registrations"
}

case_the_new_server_is_in_the_sandbox_too() {
    root_only
    start --set sandbox=on
    under_load 3 restart
    awk '/^NoNewPrivs:|^Seccomp:/ { print $2 }' "/proc/$pid/status" | paste -sd' ' | grep -qx '1 2' ||
        fail "not confined: $(grep -E 'NoNewPrivs|Seccomp' "/proc/$pid/status")"
}

# managed SOCKET: what a service manager there is told from the start, over a reload and a restart, to the end.
managed() {
    local told=$scratch/told reloading
    python3 "$daemon_tests/restart.py" manage "$1" "$told" & manager=$!
    wait_for 10 test -e "$told" || fail "no service manager"
    NOTIFY_SOCKET=$1 start
    wait_for 10 grep -qx "$first_pid READY=1" "$told" || fail "not ready: $(<"$told")"
    kill -HUP "$first_pid"
    reloading="$first_pid RELOADING=1 MONOTONIC_USEC=[0-9]*"
    wait_for 10 tells 3 || fail "no end of the reload: $(<"$told")"
    restart
    wait_for 10 tells 4 || fail "nothing of the restart: $(<"$told")"
    first=$pid
    restart
    kill -TERM "$pid"
    wait_for 10 not_running "$pid" || fail "it does not end"
    wait_for 10 tells 6 || fail "nothing of the end: $(<"$told")"
    paste -sd, "$told" | grep -qx "$first_pid READY=1,$reloading,$first_pid READY=1,$first_pid MAINPID=$first,$(:
        )$first MAINPID=$pid,$pid STOPPING=1" || fail "$(<"$told")"
    kill "$manager"
}
tells() { (($(wc -l <"$scratch/told") >= $1)); }

case_the_service_manager_knows_which_process_is_the_service() { managed "$scratch/notify"; }
case_a_service_manager_with_an_abstract_socket_does_too() { managed "@$scratch/notify"; }

case_a_service_manager_that_is_not_there_keeps_nobody_from_serving() {
    NOTIFY_SOCKET=$scratch/nowhere start
    [[ $(log) == *"NOTIFY_SOCKET $scratch/nowhere: No such file"* ]] || fail "not said: $(log)"
    restart
    serves || fail "not after the restart"
}

case_a_server_in_the_background_is_restarted() {
    mkdir -p "$scratch/shared"
    "$RINGNFSD" -p 0 -a 127.0.0.1 --rpcbind off --set state_dir="$scratch/state" --print-ports \
        -e "$scratch/shared *(rw,insecure,no_root_squash)" >"$scratch/ports" 2>"$scratch/server.log" || fail "$(log)"
    trap 'end_server; cleanup' EXIT
    nfs_port=$(port_in nfs "$scratch/ports")
    root=$(nfs mnt "$nfs_port" "$scratch/shared") || exit 1
    restart
    serves || fail "not after the first"
    restart
    serves || fail "not after the second"
    [[ $(log) == *"has taken over"*"has taken over"* ]] || fail "the log is lost: $(log)"
}

case_ephemeral_servers_keep_their_directory_and_their_parent() {
    local dir
    mkdir -p "$scratch"/{tmp,shared}
    sleep 300 & parent=$!
    TMPDIR=$scratch/tmp "$RINGNFSD" --ephemeral --parent-death="$parent" --print-ports \
        -e "$scratch/shared *(rw,insecure,no_root_squash)" >"$scratch/ports" 2>"$scratch/server.log" &
    server_pid=$!
    wait_for 10 has_ports || fail "$(log)"
    nfs_port=$(port_in nfs "$scratch/ports")
    dir=$(echo "$scratch"/tmp/*)
    state_dir=$dir
    root=$(nfs mnt "$nfs_port" "$scratch/shared") || exit 1
    restart
    serves || fail "not after the restart"
    kill "$parent"
    wait_for 10 not_running "$pid" || fail "it does not end with its parent"
    [[ ! -e $dir ]] || fail "left: $(ls "$dir")"
}

case_the_journal_and_the_capture_file_have_the_calls_of_both_processes() {
    start --journal "$scratch/journal" --capture "$scratch/capture"
    under_load 4 restart
    nfs umnt "$mount_port" "$scratch/shared" || exit 1
    [[ -z $(ctl journal close) ]] || fail "calls were lost"
    ctl capture close >/dev/null || fail "no capture file was open"
    client journal "$scratch/load" "$scratch/journal" || fail "$(log)"
    [[ $(tail -n 1 "$scratch/journal") == *UMNT* ]] || fail "the last call is not there"
    command -v tshark >/dev/null || skip "needs tshark for the capture file"
    # xids 0 | 1: those of all calls, or replies, in the capture file.
    xids() {
        tshark -r "$scratch/capture" -d "tcp.port==$nfs_port,rpc" -d "udp.port==$nfs_port,rpc" -T fields -e rpc.xid \
            -Y "rpc.msgtyp == $1" 2>/dev/null | tr ',' '\n' | sort
    }
    sed -n 's/.*"xid":\([0-9]*\).*/\1/p' "$scratch/journal" | xargs printf '0x%08x\n' | sort >"$scratch/xids"
    cmp <(xids 0) "$scratch/xids" || fail "other calls were captured"
    cmp <(xids 1) "$scratch/xids" || fail "other replies were captured"
}

case_a_journal_that_was_opened_by_hand_goes_on_too() {
    start
    ctl journal open "$scratch/journal" whole >/dev/null || fail "no journal"
    restart
    restart
    serves || fail "it does not serve"
    ctl journal close >/dev/null || fail "it is not open any more"
    [[ $(wc -l <"$scratch/journal") == 2 && $(<"$scratch/journal") == *'"data":"whole"'*GETATTR* ]] ||
        fail "$(<"$scratch/journal")"
}

case_a_restart_that_fails_leaves_the_journal_to_the_old_server() {
    start_own
    ctl journal open "$scratch/journal" >/dev/null || fail "no journal"
    for step in offer ready state; do
        replace_program "python3 $daemon_tests/restart.py pretend $step"
        goes_on "ended before it served"
    done
    ctl journal close >/dev/null || fail "it is not open any more"
    [[ $(grep -c GETATTR "$scratch/journal") == 3 ]] || fail "$(<"$scratch/journal")"
}

case_a_journal_that_its_disk_does_not_take_is_not_handed_over() {
    root_only
    mkdir "$scratch/small"
    mount -t tmpfs -o size=16k small "$scratch/small" 2>/dev/null || skip "nothing can be mounted here"
    start
    ctl journal open "$scratch/small/journal" >/dev/null || fail "no journal"
    cat /dev/zero >"$scratch/small/filler" 2>/dev/null
    for ((i = 0; i < 20; i++)); do serves; done
    : >"$scratch/small/journal"                          # in whose last page there was room for a few bytes
    cat /dev/zero >>"$scratch/small/filler" 2>/dev/null
    goes_on "its disk takes no calls; close it first"
    ctl journal close >/dev/null || fail "not closed"
    restart
    serves || fail "not with the journal closed"
}

case_a_server_that_is_paused_is_not_restarted() {
    start --allow-faults
    ctl pause >/dev/null || fail "not paused"
    [[ $(ctl restart 2>&1) == *"the server is paused"* ]] || fail "restarted while it was paused"
    ctl resume >/dev/null || fail "not resumed"
    restart
    serves
}

case_what_is_in_memory_alone_is_not_given_up() {
    start -e 'memory:/x *(rw,insecure)'
    goes_on "memory:/x"
}

run_cases
