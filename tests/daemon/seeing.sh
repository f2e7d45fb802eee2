#!/usr/bin/env bash
# Looking on: --journal and --capture, the commands that open and close them, and ringnfsctl replay.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ctl=${RINGNFSCTL:-${RINGNFSD%d}ctl}
export_line='memory:/x *(rw,insecure,no_root_squash)'
serve_memory() { start_server -e "$export_line" "$@" || fail "does not start"; }

control() { "$ctl" -d "$scratch/state" "$@"; }

# replay FILE OPTION...: to the server that runs; what it prints is in $scratch/replayed, its status in $replay_status.
replay() {
    replay_status=0
    "$ctl" replay --port "$nfs_port" --mount-port "$mount_port" "$@" >"$scratch/replayed" 2>&1 || replay_status=$?
}

# A client's life in few calls.
use_it() {
    local root file
    root=$(nfs mnt "$mount_port" /x) || fail "cannot be mounted: $(<"$scratch/server.log")"
    file=$(nfs create "$nfs_port" "$root" hello) || fail "no file can be made"
    nfs create "$nfs_port" "$root" other >/dev/null || fail "no file can be made"
    nfs write "$nfs_port" "$file" "some text" || fail "it cannot be written"
    [[ $(nfs read "$nfs_port" "$file") == "some text" ]] || fail "it cannot be read"
    nfs list "$nfs_port" "$root" plus >/dev/null || fail "no listing"
    nfs lookup "$nfs_port" "$root" nothing 2>/dev/null && fail "nothing is there"
    return 0
}

# procedures FILE: those of a journal, in their order.
procedures() {
    python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert lines[0]["ringnfs_journal"] == 1, lines[0]
print(*(line.get("proc", "lost") for line in lines[1:]))' "$1"
}
all_of_them="MNT CREATE CREATE WRITE READ READDIRPLUS LOOKUP"

record() {
    serve_memory --journal "$scratch/journal" --set journal_data=whole --capture "$scratch/capture"
    use_it
    stop_server TERM
}

case_the_journal_has_every_call_in_order() {
    record
    [[ $(procedures "$scratch/journal") == "$all_of_them" ]] || fail "$(<"$scratch/journal")"
    [[ $(stat -c %a "$scratch/journal") == 600 ]] || fail "others may read it: $(ls -l "$scratch/journal")"
}

case_a_confined_server_writes_both() {
    serve_memory --set sandbox=auto --journal "$scratch/journal" --capture "$scratch/capture"
    use_it
    stop_server TERM
    [[ $(procedures "$scratch/journal") == "$all_of_them" ]] || fail "$(<"$scratch/journal") $(<"$scratch/server.log")"
    [[ $(stat -c %s "$scratch/capture") -gt 1000 ]] || fail "$(ls -l "$scratch/capture")"
}

case_data_is_a_digest_unless_the_whole_is_asked_for() {
    serve_memory --journal "$scratch/journal"
    use_it
    stop_server TERM
    grep -q '"siphash"' "$scratch/journal" || fail "$(<"$scratch/journal")"
    ! grep -q 736f6d652074657874 "$scratch/journal" || fail "the data is there"
    record
    grep -q 736f6d652074657874 "$scratch/journal" || fail "the data is not there"
}

# read_capture OPTION...: where a client's port is another protocol's by name, what the bytes look like counts.
read_capture() { tshark -o tcp.try_heuristic_first:TRUE -r "$scratch/capture" "$@"; }

case_tshark_understands_the_capture_file() {
    command -v tshark >/dev/null || skip "tshark is not installed"
    record
    read_capture -Y 'rpc.msgtyp == 0' -T fields -e rpc.procedure >"$scratch/called" 2>/dev/null
    [[ $(tr '\n' ' ' <"$scratch/called") == "1 8 8 7 6 17 3 " ]] ||
        fail "$(read_capture 2>&1)"
    [[ $(read_capture -Y 'rpc.msgtyp == 1' 2>/dev/null | wc -l) == 7 ]] ||
        fail "$(read_capture 2>&1)"
    [[ -z $(read_capture -Y '_ws.malformed || tcp.analysis.flags' 2>/dev/null) ]] ||
        fail "$(read_capture -Y '_ws.malformed || tcp.analysis.flags' 2>&1)"
}

case_files_that_cannot_be_made_are_no_start() {
    start_server -e "$export_line" --journal "$scratch/none/journal" >/dev/null && fail "it started"
    grep -q "journal $scratch/none/journal: No such file" "$scratch/server.log" || fail "$(<"$scratch/server.log")"
    start_server -e "$export_line" --capture "$scratch" >/dev/null && fail "it started"
    grep -q "capture $scratch: Is a directory" "$scratch/server.log" || fail "$(<"$scratch/server.log")"
}

case_they_can_be_opened_and_closed_while_it_runs() {
    serve_memory
    use_it
    (cd "$scratch" && control journal open journal whole) || fail "no journal"
    control capture open "$scratch/capture" || fail "no capture file"
    control journal open "$scratch/second" 2>"$scratch/error" && fail "two journals"
    grep -q "open already" "$scratch/error" || fail "$(<"$scratch/error")"
    control journal open "$scratch/third" some 2>"$scratch/error" && fail "data that is neither"
    grep -q "neither digest nor whole" "$scratch/error" || fail "$(<"$scratch/error")"
    nfs lookup "$nfs_port" "$(nfs mnt "$mount_port" /x)" hello >/dev/null || fail "nothing is there"
    control journal close || fail "it cannot be closed"
    control capture close || fail "it cannot be closed"
    control journal close 2>"$scratch/error" && fail "closed twice"
    nfs mnt "$mount_port" /x >/dev/null
    [[ $(procedures "$scratch/journal") == "MNT LOOKUP" ]] || fail "$(<"$scratch/journal")"
    grep -q '"path":"/x/hello"' "$scratch/journal" || fail "$(<"$scratch/journal")"
}

case_a_replay_to_an_equal_server_finds_no_difference() {
    local file
    record
    for file in journal capture; do
        serve_memory
        replay "$scratch/$file"
        ((replay_status == 0)) || fail "$file: $replay_status, $(<"$scratch/replayed")"
        [[ $(<"$scratch/replayed") == "7 calls sent, 0 differences" ]] || fail "$file: $(<"$scratch/replayed")"
        stop_server TERM
    done
}

case_a_replay_to_another_store_finds_no_difference() {
    record
    mkdir -m 1777 "$scratch/dir"
    chmod 1777 "$scratch/dir"
    start_server -e "/x *(rw,insecure,no_root_squash,path=$scratch/dir)" || fail "does not start"
    replay "$scratch/journal"
    ((replay_status == 0)) || fail "$replay_status, $(<"$scratch/replayed")"
    [[ $(<"$scratch/dir/hello") == "some text" ]] || fail "it was not written"
}

case_what_is_different_is_listed_and_nothing_else() {
    record
    mkdir "$scratch/dir"
    chmod 1777 "$scratch/dir"
    echo unexpected >"$scratch/dir/nothing"
    start_server -e "/x *(rw,insecure,no_root_squash,path=$scratch/dir)" || fail "does not start"
    replay "$scratch/journal"
    ((replay_status == 1)) || fail "$replay_status, $(<"$scratch/replayed")"
    printf '%s\n' '7: READDIRPLUS /x: entry "nothing": recorded not there, now there' \
        '8: LOOKUP /x/nothing: status: recorded NOENT, now OK' '7 calls sent, 2 differences' >"$scratch/expected"
    diff "$scratch/expected" "$scratch/replayed" || fail "see above"
    rm "$scratch/dir/"*
    echo unexpected >"$scratch/dir/nothing"
    replay --json "$scratch/capture"
    ((replay_status == 1)) || fail "$replay_status, $(<"$scratch/replayed")"
    python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert [(line["proc"], line["field"], line["now"]) for line in lines[:-1]] == \
    [("READDIRPLUS", "entry \"nothing\"", "there"), ("LOOKUP", "status", "OK")], lines
assert lines[-1]["calls"] == 7 and lines[-1]["differences"] == 2, lines' "$scratch/replayed" || fail "see above"
}

case_data_that_is_different_is_told_by_its_place() {
    local root file
    serve_memory
    use_it
    control journal open "$scratch/journal" whole || fail "no journal"
    root=$(nfs mnt "$mount_port" /x)
    file=$(nfs lookup "$nfs_port" "$root" hello) || fail "nothing is there"
    nfs read "$nfs_port" "$file" >/dev/null
    control journal close
    nfs write "$nfs_port" "$file" "some Text" || fail "it cannot be written"
    replay "$scratch/journal"
    ((replay_status == 1)) || fail "$replay_status, $(<"$scratch/replayed")"
    grep -q '^4: READ /x/hello: data: recorded 9 bytes, now 9 bytes, different from byte 5 on$' "$scratch/replayed" ||
        fail "$(<"$scratch/replayed")"
}

case_a_recording_without_the_mount_needs_a_root() {
    local root
    serve_memory
    root=$(nfs mnt "$mount_port" /x)
    control journal open "$scratch/journal" whole || fail "no journal"
    nfs create "$nfs_port" "$root" hello >/dev/null || fail "no file can be made"
    control journal close
    stop_server TERM
    rm -r "$scratch/state"                              # another key: the old handles are good for nothing
    serve_memory
    replay "$scratch/journal"
    ((replay_status == 2)) || fail "$replay_status, $(<"$scratch/replayed")"
    grep -q -- "--root" "$scratch/replayed" || fail "$(<"$scratch/replayed")"
    replay --root /x "$scratch/journal"
    ((replay_status == 0)) || fail "$replay_status, $(<"$scratch/replayed")"
    replay --root /nothing "$scratch/journal"
    ((replay_status == 2)) || fail "$replay_status, $(<"$scratch/replayed")"
    grep -q "/nothing cannot be mounted" "$scratch/replayed" || fail "$(<"$scratch/replayed")"
}

case_a_journal_without_the_data_is_refused_with_the_setting() {
    serve_memory --journal "$scratch/journal"
    use_it
    replay "$scratch/journal"
    ((replay_status == 2)) || fail "$replay_status, $(<"$scratch/replayed")"
    grep -q "journal_data=whole" "$scratch/replayed" || fail "$(<"$scratch/replayed")"
}

case_what_is_no_recording_is_refused_with_its_name() {
    local bytes
    record
    serve_memory
    for bytes in 3 100 1000 2000; do
        head -c "$bytes" "$scratch/journal" >"$scratch/cut"
        replay "$scratch/cut"
        ((replay_status == 2)) || fail "journal of $bytes: $replay_status, $(<"$scratch/replayed")"
        grep -q "$scratch/cut: " "$scratch/replayed" || fail "journal of $bytes: $(<"$scratch/replayed")"
        head -c "$bytes" "$scratch/capture" >"$scratch/cut"
        replay "$scratch/cut"
        ((replay_status == 2)) || fail "capture of $bytes: $replay_status, $(<"$scratch/replayed")"
    done
    replay "$scratch/server.log"
    ((replay_status == 2)) || fail "$replay_status, $(<"$scratch/replayed")"
    grep -q "neither a journal" "$scratch/replayed" || fail "$(<"$scratch/replayed")"
    replay "$scratch/none"
    grep -q "No such file" "$scratch/replayed" || fail "$(<"$scratch/replayed")"
}

case_a_classic_capture_file_is_taken_too() {
    command -v editcap >/dev/null || skip "editcap is not installed"
    record
    editcap -F pcap "$scratch/capture" "$scratch/classic" || fail "not converted"
    serve_memory
    replay "$scratch/classic"
    [[ $(<"$scratch/replayed") == "7 calls sent, 0 differences" ]] || fail "$(<"$scratch/replayed")"
}

case_mistakes_in_the_command_line_are_told() {
    "$ctl" replay 2>"$scratch/error" && fail "no file"
    grep -q "a file is missing" "$scratch/error" || fail "$(<"$scratch/error")"
    "$ctl" replay --port 70000 x 2>"$scratch/error" && fail "no such port"
    grep -q "70000 is no number from 1 to 65535" "$scratch/error" || fail "$(<"$scratch/error")"
    "$ctl" replay --port 1 "$0" 2>"$scratch/error" && fail "no recording"
    "$ctl" replay --help | grep -q -- --strict || fail "no help"
}

run_cases
