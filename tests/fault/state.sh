#!/usr/bin/env bash
# The state directory on a disk that is full or read-only, and in the hands of two servers.
# shellcheck source=../daemon/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../daemon/lib.sh"

shared() {
    mkdir -p "$scratch/shared"
    printf '%s/shared *(rw,insecure,no_root_squash,no_subtree_check)' "$scratch"
}

# A small disk at $scratch/state, unmounted at the end of the case.
small_disk() {
    root_only
    mkdir "$scratch/state"
    mount -t tmpfs -o "size=16k,mode=700" small "$scratch/state" 2>/dev/null || skip "nothing can be mounted here"
}

fill() { ! cat /dev/zero >"$scratch/state/filler" 2>/dev/null; }

said() { grep -qF -e "$1" "$scratch/server.log"; }

case_on_a_full_disk_no_key_is_made_and_nothing_is_left_behind() {
    small_disk
    fill
    start_server -e "$(shared)" && fail "it started"
    said "$scratch/state/handle-key: No space left on device" || fail "not said: $(<"$scratch/server.log")"
    [[ $(ls -A "$scratch/state") == filler ]] || fail "left behind: $(ls -A "$scratch/state")"
    rm "$scratch/state/filler"
    start_server -e "$(shared)" || fail "does not start with room"
}

case_a_list_that_finds_no_room_leaves_the_old_one_whole() {
    local before
    small_disk
    start_server -e "$(shared)" || fail "does not start"
    nfs mnt "$mount_port" "$scratch/shared" >/dev/null
    stop_server TERM
    before=$(sha256sum <"$scratch/state/mounts")
    start_server -e "$(shared)" || fail "does not start again"
    fill
    nfs umnt "$mount_port" "$scratch/shared"
    stop_server TERM
    ((server_status == 0)) || fail "status $server_status"
    said "the MOUNT list cannot be kept" || fail "not said: $(<"$scratch/server.log")"
    [[ $(sha256sum <"$scratch/state/mounts") == "$before" ]] || fail "the list is another"
    rm "$scratch/state/filler"
    [[ $(ls -A "$scratch/state") == $'control.lock\nhandle-key\nmounts' ]] || fail "left behind: $(ls -A "$scratch/state")"
}

case_a_foreign_list_is_named_and_left_alone_until_it_is_moved_away() {
    mkdir -m 700 "$scratch/state"
    echo "192.0.2.1:/srv" >"$scratch/state/mounts"
    start_server -e "$(shared)" || fail "does not start"
    said "$scratch/state/mounts is no MOUNT list" || fail "not said: $(<"$scratch/server.log")"
    nfs mnt "$mount_port" "$scratch/shared" >/dev/null || fail "no mount"
    stop_server TERM
    said "the MOUNT list cannot be kept: $scratch/state/mounts is no MOUNT list" || fail "not at the end either"
    [[ $(<"$scratch/state/mounts") == "192.0.2.1:/srv" ]] || fail "it was written over"
    start_server -e "$(shared)" || fail "does not start again"
    mv "$scratch/state/mounts" "$scratch/elsewhere"
    nfs mnt "$mount_port" "$scratch/shared" >/dev/null || fail "no mount the second time"
    stop_server TERM
    grep -qaF "$scratch/shared" "$scratch/state/mounts" || fail "no list after it was moved away"
}

case_a_read_only_disk_is_named() {
    small_disk
    mount -o remount,ro "$scratch/state"
    start_server -e "$(shared)" && fail "it started"
    said "$scratch/state/handle-key: Read-only file system" || fail "not said: $(<"$scratch/server.log")"
}

case_a_server_that_is_refused_leaves_the_others_files_alone() {
    local first before
    start_server -e "$(shared)" || fail "does not start"
    nfs mnt "$mount_port" "$scratch/shared" >/dev/null
    stop_server TERM
    start_server -e "$(shared)" || fail "the first does not start"
    first=$server_pid before=$(stat -c '%i %s' "$scratch/state"/{handle-key,mounts})
    start_server --set mount_list=1 -e "$(shared)" && { kill "$first"; fail "the second started"; }
    server_pid=$first
    said "another server (pid $first)" || fail "not said: $(<"$scratch/server.log")"
    [[ $(stat -c '%i %s' "$scratch/state"/{handle-key,mounts}) == "$before" ]] || fail "it wrote there"
}

run_cases
