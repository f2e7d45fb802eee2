# shellcheck shell=bash disable=SC2034
# tests/daemon/lib.sh - start a ringnfsd of one's own and end it; cases with a PASS, FAIL or SKIP line each.
#
# A script sources this, defines functions case_NAME and calls run_cases at its end. Each case runs in a subshell with a
# fresh $scratch that every user can enter; what it started with start_server is ended with it.

set -uo pipefail
daemon_tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RINGNFSD=${RINGNFSD:-$daemon_tests/../../build/ringnfsd}
[[ -x $RINGNFSD ]] || { echo "no $RINGNFSD: build it, or name it by \$RINGNFSD" >&2; exit 99; }

server_pid='' nfs_port='' mount_port='' scratch=''

# The case ends here.
fail() { echo "$*"; exit 1; }
skip() { echo "$*"; exit 77; }

root_only() { ((EUID == 0)) || skip "needs root"; }

# wait_for SECONDS COMMAND...
wait_for() {
    local tenths=$(($1 * 10))
    shift
    until "$@"; do
        ((tenths-- > 0)) || return 1
        sleep 0.1
    done
}

alive() { kill -0 "$server_pid" 2>/dev/null; }
gone() { ! alive; }
has_ports() { [[ -s $scratch/ports ]]; }
ready_or_gone() { has_ports || gone; }

# port_in NAME FILE: a number out of the daemon's JSON line.
port_in() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$2"; }

# launch COMMAND...: start a server by it, which gets the options that report its ports; false if it ends at once.
# It keeps its state in $state_dir ($scratch/state) and registers with rpcbind as $rpcbind says (off).
launch() {
    : >"$scratch/ports"
    "$@" -f --print-ports --rpcbind "${rpcbind:-off}" --set state_dir="${state_dir:-$scratch/state}" \
        >"$scratch/ports" 2>>"$scratch/server.log" &
    server_pid=$!
    wait_for 20 ready_or_gone
    has_ports || { cat "$scratch/server.log"; return 1; }
    nfs_port=$(port_in nfs "$scratch/ports")
    mount_port=$(port_in mount "$scratch/ports")
}

# start_server OPTION...: on ports that the kernel chooses, unless told otherwise.
start_server() { launch "$RINGNFSD" -p 0 -a 127.0.0.1 "$@"; }

# stop_server [SIGNAL]: sets server_status.
stop_server() {
    kill -"${1:-TERM}" "$server_pid" 2>/dev/null
    wait_for 30 gone || { kill -KILL "$server_pid"; echo "did not end within 30 s"; }
    server_status=0
    wait "$server_pid" || server_status=$?
    server_pid=''
}

# What a case has mounted below $scratch, the innermost first.
mounted_here() { awk -v below="$scratch/" 'index($2, below) == 1 { print $2 }' /proc/self/mounts | tac; }

cleanup() {
    local point pid
    for pid in $(jobs -p); do
        kill -KILL "$pid" && wait "$pid"
    done 2>/dev/null
    for point in $(mounted_here); do
        umount "$point"
    done
    rm -rf "$scratch"
}

# nfs VERB ARGS: one or a few calls; see nfs.py.
nfs() { python3 "$daemon_tests/nfs.py" "$@"; }

run_case() (
    server_pid=''
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/ringnfs-test.XXXXXX")
    chmod 755 "$scratch"
    trap cleanup EXIT
    "$1"
)

run_cases() {
    local name output status failed=0
    for name in $(declare -F | awk '$3 ~ /^case_/ { print $3 }'); do
        status=0
        output=$(run_case "$name" 2>&1) || status=$?
        name=${name#case_}
        name=${name//_/ }
        case $status in
            0) echo "PASS $name" ;;
            77) echo "SKIP $name: $(tail -n 1 <<<"$output")" ;;
            *) printf 'FAIL %s:\n%s\n' "$name" "$output"; failed=1 ;;
        esac
    done
    exit "$failed"
}
