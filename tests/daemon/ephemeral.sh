#!/usr/bin/env bash
# Servers for tests: --ephemeral leaves nothing behind, --parent-death ends with whoever started it.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# begin COMMAND...: start a server by it; false if it ends at once. All that it may keep goes below $scratch.
begin() {
    mkdir -p "$scratch"/{tmp,home}
    : >"$scratch/ports"
    TMPDIR=$scratch/tmp HOME=$scratch/home XDG_STATE_HOME='' "$@" >"$scratch/ports" 2>>"$scratch/server.log" &
    server_pid=$!
    wait_for 20 ready_or_gone
    has_ports || { cat "$scratch/server.log"; return 1; }
    nfs_port=$(port_in nfs "$scratch/ports")
    mount_port=$(port_in mount "$scratch/ports")
}

export_line='memory:/x *(rw,insecure,no_root_squash)'
start_ephemeral() { begin "$RINGNFSD" --ephemeral --print-ports -e "$export_line" "$@" || fail "does not start"; }

# What is in the places where a server may keep something; the system's own are not to be touched.
left_behind() { find "$scratch/tmp" "$scratch/home" -mindepth 1; }
nothing_is_left() { [[ -z $(left_behind) ]]; }
system_state() { find /var/lib/ringnfs /etc/exports /etc/exports.d -printf '%p %s %T@\n' 2>/dev/null; }

# exported NAME [INDEX]: a field of an export in the line with the ports.
exported() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["exports"][int(sys.argv[3])][sys.argv[2]])' \
        "$scratch/ports" "$1" "${2:-0}"
}

write_a_file() {
    local root file
    root=$(nfs mnt "$mount_port" "$1") || fail "cannot be mounted: $(<"$scratch/server.log")"
    file=$(nfs create "$nfs_port" "$root" hello) || fail "no file can be made"
    nfs write "$nfs_port" "$file" "still here" || fail "it cannot be written"
    [[ $(nfs read "$nfs_port" "$file") == "still here" ]] || fail "it cannot be read"
}

case_it_serves_and_nothing_is_left_at_the_end() {
    local before
    before=$(system_state)
    start_ephemeral
    [[ $nfs_port != 2049 ]] || fail "the port was not left to the kernel"
    [[ $(left_behind | wc -l) -gt 1 ]] || fail "this test does not see where the state is"
    write_a_file /x
    stop_server TERM
    ((server_status == 0)) || fail "status $server_status: $(<"$scratch/server.log")"
    nothing_is_left || fail "left: $(left_behind)"
    [[ $(system_state) == "$before" ]] || fail "the system's files have changed"
}

case_an_export_is_filled_from_a_directory_and_an_archive() {
    local root name
    mkdir -p "$scratch/tree/folder"
    echo contents >"$scratch/tree/folder/hello"
    tar -czf "$scratch/tree.tar.gz" -C "$scratch/tree" .
    start_ephemeral --fill "/x=$scratch/tree" -e 'memory:/y *(rw,insecure)' --fill "memory:/y=$scratch/tree.tar.gz"
    for name in /x /y; do
        root=$(nfs mnt "$mount_port" "$name") || fail "$name cannot be mounted"
        nfs lookup "$nfs_port" "$root" folder >/dev/null || fail "$name is not filled"
    done
    stop_server TERM
    begin "$RINGNFSD" --ephemeral --print-ports -e "$export_line" --fill "/x=$scratch/none" >"$scratch/said" && fail "it started"
    grep -q "$scratch/none: No such file" "$scratch/said" || fail "$(<"$scratch/said")"
    begin "$RINGNFSD" --ephemeral --print-ports -e "$export_line" --fill "/z=$scratch/tree" >"$scratch/said" && fail "it started"
    grep -q "/z is not exported" "$scratch/said" || fail "$(<"$scratch/said")"
}

# Whether something answers NULL of NFS at the other end of a Unix socket.
answers_at() {
    python3 - "$1" <<'END'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
s.sendall(struct.pack(">11I", 0x80000028, 1, 0, 2, 100003, 3, 0, 0, 0, 0, 0))
sys.exit(len(s.recv(28)) != 28)
END
}

case_a_unix_socket_is_served_and_gone_at_the_end() {
    start_ephemeral -a "$scratch/socket"
    [[ $(stat -c '%F %a' "$scratch/socket") == "socket 600" ]] || fail "it is $(stat -c '%F %a' "$scratch/socket")"
    answers_at "$scratch/socket" || fail "no answer"
    grep -q '"nfs":0' "$scratch/ports" || fail "it has a port: $(<"$scratch/ports")"
    [[ $(exported path) == /x ]] || fail "$(<"$scratch/ports")"
    stop_server KILL
    [[ -S $scratch/socket ]] || fail "this test does not see that a socket stays"
    start_ephemeral -a "$scratch/socket" -a 127.0.0.1
    answers_at "$scratch/socket" || fail "no answer at the second one"
    stop_server TERM
    [[ ! -e $scratch/socket ]] || fail "it is still there"
}

case_nothing_is_left_of_a_server_that_does_not_start() {
    begin "$RINGNFSD" --ephemeral --print-ports -e "$scratch/none *(rw)" >/dev/null && fail "it started"
    wait "$server_pid"
    nothing_is_left || fail "left: $(left_behind)"
}

case_its_directory_is_its_users_alone() {
    start_ephemeral
    [[ $(stat -c %a "$scratch/tmp/"*) == 700 ]] || fail "$(ls -l "$scratch/tmp")"
}

case_it_can_be_controlled_meanwhile() {
    start_ephemeral
    "${RINGNFSCTL:-${RINGNFSD%d}ctl}" -d "$(echo "$scratch/tmp/"*)" status >"$scratch/status" 2>&1 ||
        fail "$(<"$scratch/status")"
}

# The local addresses of the server's own sockets, in the kernel's hexadecimal digits.
listened_on() {
    find "/proc/$server_pid/fd" -printf '%l\n' | sed -n 's/^socket:\[\(.*\)\]$/\1/p' >"$scratch/inodes"
    awk 'NR == FNR { mine[$1]; next } $10 in mine { print $2 }' "$scratch/inodes" \
        /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6
}

case_only_this_machine_is_served() {
    start_ephemeral
    listened_on | grep -q "^0100007F:$(printf %04X "$nfs_port")$" ||
        fail "this test does not see its sockets: $(listened_on)"
    ! listened_on | grep -qv ^0100007F: || fail "it listens on $(listened_on)"
}

case_a_port_that_is_given_is_taken() {
    local port
    start_ephemeral
    port=$nfs_port
    stop_server TERM
    start_ephemeral -p "$port"
    [[ $nfs_port == "$port" ]] || fail "port $nfs_port"
}

case_two_live_side_by_side() {
    local first=$BASHPID first_port
    start_ephemeral
    first=$server_pid first_port=$nfs_port
    begin "$RINGNFSD" --ephemeral --print-ports -e "$export_line" || { kill "$first"; fail "the second does not start"; }
    nfs null "$first_port" && nfs null "$nfs_port" || { kill "$first"; fail "one does not answer"; }
    kill "$first"
    wait "$first" || fail "the first ends with $?"
    write_a_file /x
}

case_an_ordinary_user_has_one_too() {
    root_only
    cp "$RINGNFSD" "$scratch/ringnfsd"
    mkdir -m 777 "$scratch/tmp"
    begin setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/ringnfsd" --ephemeral --print-ports \
        -e "$export_line" || fail "does not start"
    write_a_file /x
    stop_server TERM
    nothing_is_left || fail "left: $(left_behind)"
}

case_the_line_tells_how_to_mount() {
    local options="vers=3,tcp,mountproto=tcp,port"
    start_ephemeral
    [[ $(exported path) == /x ]] || fail "$(<"$scratch/ports")"
    [[ $(exported command) == "mount -t nfs -o $options=$nfs_port,mountport=$mount_port,nolock 127.0.0.1:/x /mnt" ]] ||
        fail "$(exported command)"
    [[ $(exported url) == "nfs://127.0.0.1/x?nfsport=$nfs_port&mountport=$mount_port" ]] || fail "$(exported url)"
}

case_unusual_names_are_quoted() {
    local word
    begin "$RINGNFSD" --ephemeral --print-ports -a ::1 -e "memory:/it's\\040x *(rw)" || fail "does not start"
    eval "set -- $(exported command)"       # as a shell reads it
    word=${*: -2:1}
    [[ $word == "[::1]:/it's x" ]] || fail "$word"
    [[ $(exported url) == "nfs://[::1]/it%27s%20x?"* ]] || fail "$(exported url)"
}

case_libnfs_takes_the_url() {
    command -v nfs-ls >/dev/null || skip "libnfs' tools are not installed"
    start_ephemeral
    write_a_file /x
    nfs-ls "$(exported url)" | grep -q hello || fail "$(<"$scratch/server.log")"
}

# start_with_parent [OPTION...]: by a shell that stays, whose number is $parent_pid.
start_with_parent() {
    # shellcheck disable=SC2016
    begin bash -c '"$@" & echo $! >"$0"; wait' "$scratch/pid" \
        "$RINGNFSD" --ephemeral --print-ports -e "$export_line" "$@" || fail "does not start"
    parent_pid=$server_pid
    server_pid=$(<"$scratch/pid")
}

ends_with_its_parent() {
    kill -KILL "$parent_pid"
    wait "$parent_pid" 2>/dev/null
    wait_for 20 gone || fail "it lives on: $(<"$scratch/server.log")"
    grep -q "has ended" "$scratch/server.log" || fail "it ended for another reason: $(<"$scratch/server.log")"
    nothing_is_left || fail "left: $(left_behind)"
    server_pid=''
}

case_without_parent_death_it_outlives_its_parent() {
    start_with_parent
    kill -KILL "$parent_pid"
    sleep 0.5
    alive || fail "it has ended: this test does not see what the others are about"
    kill -TERM "$server_pid"
    wait_for 20 gone || fail "it does not end"
}

case_with_parent_death_it_ends_with_its_parent_that_is_killed() {
    start_with_parent --parent-death
    write_a_file /x
    ends_with_its_parent
}

case_a_confined_server_ends_with_its_parent_too() {
    start_with_parent --parent-death --set sandbox=auto
    write_a_file /x
    ends_with_its_parent
}

case_any_process_can_stand_for_the_parent() {
    sleep 1000 & sleeper=$!
    start_ephemeral "--parent-death=$sleeper"
    nfs null "$nfs_port" || fail "does not answer"
    kill -KILL "$sleeper"
    wait "$sleeper" 2>/dev/null
    wait "$server_pid" || fail "status $?: $(<"$scratch/server.log")"
    server_pid=''
    nothing_is_left || fail "left: $(left_behind)"
}

case_it_does_not_start_for_a_process_that_has_ended() {
    local pid
    sleep 0 & pid=$!
    wait "$pid"
    begin "$RINGNFSD" --ephemeral --print-ports -e "$export_line" "--parent-death=$pid" >/dev/null && fail "it started"
    wait "$server_pid" && fail "status 0"
    nothing_is_left || fail "left: $(left_behind)"
}

run_cases
