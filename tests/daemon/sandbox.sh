#!/usr/bin/env bash
# What a running daemon may still do: capabilities, system calls, paths; and that it still does all of its work.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Bits of CapEff, by the numbers in linux/capability.h.
declare -A cap=([chown]=0 [dac_override]=1 [dac_read_search]=2 [fowner]=3 [fsetid]=4 [setgid]=6 [setuid]=7
    [net_bind_service]=10 [sys_chroot]=18 [sys_admin]=21 [sys_resource]=24 [mknod]=27)
calls=(chown dac_override dac_read_search fowner fsetid setgid setuid sys_resource mknod)

# mask NAME...: these capabilities, as far as this shell has them.
mask() {
    local name bits=0 here
    here=$((16#$(awk '/^CapPrm/ { print $2 }' /proc/self/status)))
    for name; do
        bits=$((bits | 1 << cap[$name]))
    done
    printf '%016x' $((bits & here))
}

# field NAME FILE: of /proc/PID/status.
field() { awk -v name="$1:" '$1 == name { print $2 }' "$2"; }

# expect WHAT FILE MASK: a thread with these capabilities, no new ones, and a filter.
expect() {
    [[ $(field CapPrm "$2") == "$3" ]] || fail "$1: CapPrm $(field CapPrm "$2"), not $3"
    [[ $(field CapInh "$2") == 0000000000000000 && $(field CapAmb "$2") == 0000000000000000 ]] || fail "$1: inherits"
    (((16#$(field CapEff "$2") & ~16#$3) == 0)) || fail "$1: CapEff $(field CapEff "$2")"
    [[ $(field NoNewPrivs "$2") == 1 ]] || fail "$1: NoNewPrivs $(field NoNewPrivs "$2")"
    [[ $(field Seccomp "$2") == 2 ]] || fail "$1: Seccomp $(field Seccomp "$2")"
}

shared() {
    mkdir -p "$scratch/shared"
    printf '%s/shared *(rw,insecure,no_root_squash,no_subtree_check)' "$scratch"
}

start_sandboxed() {
    start_server --set sandbox=on "$@" && return
    ! grep -q 'sandbox:' "$scratch/server.log" || skip "$(<"$scratch/server.log")"
    fail "does not start"
}

case_each_thread_keeps_what_it_needs_and_nothing_else() {
    local thread kept operator lookup nothing workers=0 lookups=0 writers=0
    root_only
    ! grep -qa __tsan_init "$RINGNFSD" || skip "ThreadSanitizer has a thread of its own, which is not confined"
    start_sandboxed -e "$(shared)" --journal "$scratch/journal" --capture "$scratch/capture"
    nfs mnt "$mount_port" "$scratch/shared" >/dev/null || fail "no mount"
    nothing=$(mask)
    kept=$(mask "${calls[@]}") operator=$(mask "${calls[@]}" sys_admin sys_chroot net_bind_service)
    lookup=$(mask dac_read_search)
    expect "the process" "/proc/$server_pid/status" "$operator"
    [[ $(field CapBnd "/proc/$server_pid/status") == "$operator" ]] || fail "CapBnd"
    for thread in "/proc/$server_pid/task"/*; do
        if [[ $(readlink "$thread/root") != / && $(field CapPrm "$thread/status") == "$nothing" ]]; then
            expect "a thread that writes down" "$thread/status" "$nothing"
            writers=$((writers + 1))
        elif [[ $(readlink "$thread/root") != / ]]; then
            expect "a thread that acts for callers" "$thread/status" "$kept"
            workers=$((workers + 1))
        elif [[ $(field CapPrm "$thread/status") == "$lookup" ]]; then
            expect "a thread that looks up" "$thread/status" "$lookup"
            lookups=$((lookups + 1))
        else
            expect "a thread of the operator" "$thread/status" "$operator"
        fi
    done
    ((writers == 3)) || fail "$writers threads write the journal, the capture file and the MOUNT list"
    ((workers >= 9 && lookups >= 2)) || fail "only $workers and $lookups threads have given something up"
}

case_an_ordinary_user_is_confined_as_well() {
    root_only
    mkdir -p "$scratch"/{shared,state}
    chown 65534:65534 "$scratch"/{shared,state}
    cp "$RINGNFSD" "$scratch/ringnfsd"
    launch setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/ringnfsd" -p 0 -a 127.0.0.1 --set sandbox=on \
        -e "$(shared)" || skip "$(<"$scratch/server.log")"
    expect "the process" "/proc/$server_pid/status" 0000000000000000
    nfs mnt "$mount_port" "$scratch/shared" >/dev/null || fail "no mount"
}

case_off_gives_up_nothing() {
    start_server --set sandbox=off -e "$(shared)" || fail "does not start"
    [[ $(field Seccomp "/proc/$server_pid/status") == "$(field Seccomp /proc/self/status)" ]] || fail "there is a filter"
    [[ $(field CapPrm "/proc/$server_pid/status") == "$(field CapPrm /proc/self/status)" ]] || fail "capabilities are gone"
}

mounts() { nfs mnt "$mount_port" "$1" >/dev/null 2>&1; }

case_new_exports_are_opened_and_mount_points_seen_by_a_confined_server() {
    root_only
    mkdir "$scratch"/{one,two}
    echo "$scratch/one *(rw,insecure)" >"$scratch/exports"
    start_sandboxed -E "$scratch/exports"
    mounts "$scratch/one" || fail "/one cannot be mounted"
    mkdir "$scratch/three"
    {
        echo "$scratch/two *(rw,insecure)"
        echo "/proc *(ro,insecure,mountpoint,fsid=7)"
        echo "$scratch/three *(ro,insecure,mountpoint)"
    } >"$scratch/exports"
    kill -HUP "$server_pid"
    wait_for 5 mounts "$scratch/two" || fail "/two cannot be mounted: $(<"$scratch/server.log")"
    mounts /proc || fail "a mount point is not seen: $(<"$scratch/server.log")"
    ! mounts "$scratch/three" || fail "what is no mount point can be mounted"
}

run_cases
