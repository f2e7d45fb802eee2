#!/usr/bin/env bash
# The daemon's life: ready, reload, stop, restart; two at once; an ordinary user's.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# A directory to serve, and its export line.
shared() {
    mkdir -p "$scratch/shared"
    printf '%s/shared *(rw,insecure,no_root_squash,no_subtree_check)' "$scratch"
}

case_it_answers_as_soon_as_it_prints_its_ports() {
    start_server -e "$(shared)" || fail "does not start"
    [[ $(wc -l <"$scratch/ports") == 1 ]] || fail "not one line: $(<"$scratch/ports")"
    python3 -m json.tool <"$scratch/ports" >/dev/null || fail "no JSON: $(<"$scratch/ports")"
    nfs null "$nfs_port" tcp && nfs null "$nfs_port" udp && nfs null "$mount_port" tcp 100005 3 && nfs null "$mount_port" udp 100005 1 &&
        nfs null "$nfs_port" tcp 100227 3 && nfs null "$nfs_port" udp 100227 3
}

case_ready_fd_is_written_and_closed_when_it_answers() {
    local line
    mkfifo "$scratch/ready"
    "$RINGNFSD" -f -p 0 -a 127.0.0.1 --rpcbind off --set state_dir="$scratch/state" --print-ports --ready-fd 7 \
        -e "$(shared)" 7>"$scratch/ready" >"$scratch/ports" 2>"$scratch/server.log" &
    server_pid=$!
    # cat ends when the daemon closes its end.
    line=$(timeout 20 cat "$scratch/ready") || fail "nothing came: $(<"$scratch/server.log")"
    [[ -n $line ]] || fail "closed without a word: $(<"$scratch/server.log")"
    wait_for 5 has_ports || fail "no ports"
    nfs null "$(port_in nfs "$scratch/ports")"
}

case_mount_has_a_port_of_its_own_when_asked_for() {
    start_server -m 0 -e "$(shared)" || fail "does not start"
    nfs null "$mount_port" tcp 100005 3 || fail "MOUNT does not answer"
}

case_sigterm_ends_it_with_0_under_load() {
    local handle loads=()
    start_server -e "$(shared)" || fail "does not start"
    handle=$(nfs mnt "$mount_port" "$scratch/shared") || exit 1
    handle=$(nfs create "$nfs_port" "$handle" loaded) || exit 1
    for _ in 1 2 3; do
        nfs load "$nfs_port" "$handle" & loads+=($!)
    done
    sleep 0.5
    stop_server
    wait "${loads[@]}"
    ((server_status == 0)) || fail "status $server_status: $(<"$scratch/server.log")"
}

case_sigint_ends_it_with_0() {
    # A shell's background jobs ignore SIGINT; the daemon must not have inherited that.
    launch env --default-signal=INT "$RINGNFSD" -p 0 -a 127.0.0.1 -e "$(shared)" || fail "does not start"
    stop_server INT
    ((server_status == 0)) || fail "status $server_status"
}

mounts() { nfs mnt "$mount_port" "$1" >/dev/null 2>&1; }

case_sighup_reads_the_exports_again() {
    mkdir "$scratch"/{one,two}
    echo "$scratch/one *(rw,insecure)" >"$scratch/exports"
    start_server -E "$scratch/exports" || fail "does not start"
    mounts "$scratch/one" || fail "/one cannot be mounted"
    mounts "$scratch/two" && fail "/two can be mounted already"
    echo "$scratch/two *(rw,insecure)" >"$scratch/exports"
    kill -HUP "$server_pid"
    wait_for 5 mounts "$scratch/two" || fail "/two cannot be mounted: $(<"$scratch/server.log")"
    ! mounts "$scratch/one" || fail "/one can still be mounted"
}

# kept PATH: the list on disk has it.
kept() { grep -qaF " $1" "$scratch/state/mounts" 2>/dev/null; }

case_the_mount_list_of_some_seconds_ago_survives_sigkill() {
    mkdir "$scratch/later"
    start_server -e "$(shared)" -e "$scratch/later *(rw,insecure)" || fail "does not start"
    mounts "$scratch/shared" || fail "no mount"
    wait_for 60 kept "$scratch/shared" || fail "it is not saved"
    mounts "$scratch/later" || fail "no second mount"
    wait_for 60 kept "$scratch/later" || fail "the second one is not saved"
    stop_server KILL
    start_server -e "$(shared)" -e "$scratch/later *(rw,insecure)" || fail "does not start again"
    [[ $(nfs dump "$mount_port") == "127.0.0.1 $scratch/shared"$'\n'"127.0.0.1 $scratch/later" ]] ||
        fail "the list: $(nfs dump "$mount_port")"
    ! logged "MOUNT list" || fail "$(<"$scratch/server.log")"
}

logged() { grep -q -e "$1" "$scratch/server.log"; }

case_sighup_with_a_broken_file_changes_nothing() {
    local handle
    mkdir "$scratch/one"
    echo "$scratch/one *(rw,insecure)" >"$scratch/exports"
    start_server -E "$scratch/exports" || fail "does not start"
    handle=$(nfs mnt "$mount_port" "$scratch/one") || exit 1
    echo "$scratch/one *(rw,frob)" >"$scratch/exports"
    kill -HUP "$server_pid"
    wait_for 5 logged frob || fail "nothing about it in the log: $(<"$scratch/server.log")"
    mounts "$scratch/one" && nfs mode "$nfs_port" "$handle" >/dev/null || fail "the old exports are gone"
}

case_two_instances_live_side_by_side() {
    local first_pid first_port
    start_server -e "$(shared)" || fail "the first does not start"
    first_pid=$server_pid first_port=$nfs_port
    state_dir=$scratch/state2 start_server -e "$(shared)" || { kill "$first_pid"; fail "the second does not start"; }
    nfs null "$first_port" && nfs null "$nfs_port" || fail "one does not answer"
    kill -TERM "$first_pid"
    wait "$first_pid" || fail "the first ends with $?"
    nfs null "$nfs_port" || fail "the second ended with the first"
}

# handles_survive LAUNCH...: a file's handle names it after a restart on the same port, and after its renaming.
handles_survive() {
    local root file port
    "$@" -p 0 || fail "does not start"
    root=$(nfs mnt "$mount_port" "$scratch/shared") || exit 1
    file=$(nfs create "$nfs_port" "$root" before) || exit 1
    nfs write "$nfs_port" "$file" "still here" || exit 1
    port=$nfs_port
    stop_server
    ((server_status == 0)) || fail "status $server_status: $(<"$scratch/server.log")"
    "$@" -p "$port" || fail "does not start again"
    [[ $(nfs read "$nfs_port" "$file") == "still here" ]] || fail "the handle is lost after a restart"
    [[ $(nfs mnt "$mount_port" "$scratch/shared") == "$root" ]] || fail "the root has another handle"
    stop_server KILL
    "$@" -p "$port" || fail "does not start after a kill"
    [[ $(nfs read "$nfs_port" "$file") == "still here" ]] || fail "the handle is lost after a kill"
}

case_handles_survive_restarts() {
    root_only
    shared >/dev/null
    as_root() { launch "$RINGNFSD" -a 127.0.0.1 -e "$(shared)" "$@"; }
    handles_survive as_root
}

# as_nobody OPTION...: an ordinary user, without any privilege, serves a directory of his own.
as_nobody() {
    cp "$RINGNFSD" "$scratch/ringnfsd"      # the build may lie where he cannot go
    launch setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/ringnfsd" -a 127.0.0.1 -e "$(shared)" "$@"
}

own_by_nobody() {
    root_only
    mkdir -p "$scratch"/{shared,state}
    chown 65534:65534 "$scratch"/{shared,state}
}

case_an_ordinary_user_serves_his_own_directory() {
    local root file
    own_by_nobody
    as_nobody -p 0 || fail "does not start"
    root=$(nfs mnt "$mount_port" "$scratch/shared") || exit 1
    file=$(nfs create "$nfs_port" "$root" hello) || exit 1
    nfs write "$nfs_port" "$file" "by nobody" || exit 1
    [[ $(<"$scratch/shared/hello") == "by nobody" ]] || fail "not written"
    [[ $(stat -c %u "$scratch/shared/hello") == 65534 ]] || fail "not his"
    [[ $(nfs list "$nfs_port" "$root" plus) == 1 ]] || fail "not listed"
    stop_server
    ((server_status == 0)) || fail "status $server_status: $(<"$scratch/server.log")"
}

case_an_ordinary_users_handles_survive_restarts() {
    own_by_nobody
    handles_survive as_nobody
}

case_a_reserved_port_is_refused_to_an_ordinary_user_by_name() {
    own_by_nobody
    [[ $(</proc/sys/net/ipv4/ip_unprivileged_port_start) -gt 111 ]] || skip "all ports are free for all"
    as_nobody -p 111 && fail "it started"
    logged 111 || fail "the port is not named"
}

run_cases
