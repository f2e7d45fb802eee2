#!/usr/bin/env bash
# What is said about options, and how the daemon ends when they are wrong: one line, 2 for a mistake in the command line
# or a file, 1 for a thing that cannot be had; nothing is started.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# refuses STATUS PATTERN OPTION...: ends with STATUS and one line that matches PATTERN.
refuses() {
    local want=$1 pattern=$2 status=0 output
    shift 2
    output=$(timeout 10 "$RINGNFSD" -f --rpcbind off --set state_dir="$scratch/state" "$@" 2>&1) || status=$?
    [[ $status == "$want" ]] || fail "ringnfsd $*: status $status, not $want: $output"
    [[ $(wc -l <<<"$output") == 1 ]] || fail "ringnfsd $*: more than one line: $output"
    [[ $output =~ $pattern ]] || fail "ringnfsd $*: nothing about $pattern: $output"
}

export_scratch() { printf '%s *(rw,insecure)' "$scratch"; }

case_version() {
    [[ $("$RINGNFSD" --version) == "ringnfsd 0.1.0"* ]] || fail "$("$RINGNFSD" --version)"
}

case_help_names_every_option() {
    local option
    "$RINGNFSD" --help >"$scratch/help" || fail "status $?"
    for option in --export --exports --config --port --mount-port --address --rpcbind --threads --set --ready-fd \
        --print-ports --help --version --check --ephemeral --parent-death; do
        grep -q -e "$option" "$scratch/help" || fail "--help does not name $option"
    done
}

case_the_manual_pages_parts_are_printed() {
    local part
    for part in options settings exports; do
        [[ -n $("$RINGNFSD" --print-roff "$part") ]] || fail "--print-roff $part prints nothing"
    done
}

case_an_unknown_option_is_refused() { refuses 2 frobnicate --frobnicate; }
case_an_argument_too_many_is_refused() { refuses 2 surplus -e "$(export_scratch)" surplus; }
case_a_missing_value_is_refused() { refuses 2 port --port; }
case_a_port_out_of_range_is_refused() { refuses 2 70000 -p 70000 -e "$(export_scratch)"; }
case_a_port_that_is_no_number_is_refused() { refuses 2 2o49 -p 2o49 -e "$(export_scratch)"; }
case_an_address_that_is_none_is_refused() { refuses 2 nowhere -a nowhere -p 0 -e "$(export_scratch)"; }
case_an_unknown_setting_is_refused() { refuses 2 treads --set treads=4 -p 0 -e "$(export_scratch)"; }
case_a_setting_without_value_is_refused() { refuses 2 threads --set threads -p 0 -e "$(export_scratch)"; }
case_a_setting_out_of_range_is_refused() { refuses 2 rtmax --set rtmax=8M -p 0 -e "$(export_scratch)"; }
case_an_unknown_rpcbind_mode_is_refused() { refuses 2 sometimes --rpcbind sometimes -p 0 -e "$(export_scratch)"; }

case_an_unknown_export_option_is_refused() {
    refuses 2 no_such_option -p 0 -e "$scratch *(rw,no_such_option)"
}

case_a_mistake_in_an_exports_file_names_file_and_line() {
    printf '# fine\n%s *(rw)\n%s *(rw,frob)\n' "$scratch" "$scratch" >"$scratch/exports"
    refuses 2 "exports:3.*frob" -p 0 -E "$scratch/exports"
}

case_a_mistake_in_the_config_file_names_file_and_line() {
    printf 'threads = 4\nrtmax = huge\n' >"$scratch/ringnfs.conf"
    refuses 2 "ringnfs.conf:2.*rtmax" -p 0 -c "$scratch/ringnfs.conf" -e "$(export_scratch)"
}

case_a_missing_config_file_is_named() { refuses 1 "$scratch/none.conf" -p 0 -c "$scratch/none.conf" -e "$(export_scratch)"; }
case_a_missing_exports_file_is_named() { refuses 1 "$scratch/none" -p 0 -E "$scratch/none"; }
case_a_missing_directory_is_named() { refuses 1 "$scratch/none" -p 0 -e "$scratch/none *(rw)"; }

case_a_port_in_use_is_named() {
    start_server -e "$(export_scratch)" || fail "the first one does not start"
    refuses 1 "$nfs_port" -a 127.0.0.1 -p "$nfs_port" -e "$(export_scratch)"
}

case_missing_keys_for_kerberos_are_told_and_the_server_starts() {
    local status=0
    "$RINGNFSD" --check -e "$scratch *(sec=krb5)" >"$scratch/check" 2>&1 || status=$?
    ((status == 0)) || { grep -q "this build has no Kerberos" "$scratch/check" && skip "this build has no Kerberos"; }
    start_server -e "$scratch *(sec=krb5:sys,insecure)" --set krb5_keytab="$scratch/none" || fail "does not start"
    grep "no keys for this server" "$scratch/server.log" | grep "$scratch/none" || fail "$(<"$scratch/server.log")"
    nfs mnt "$mount_port" "$scratch" || fail "it does not serve"
}

case_a_parent_that_is_no_number_is_refused() { refuses 2 somebody --parent-death=somebody -p 0 -e "$(export_scratch)"; }
case_a_parent_that_has_ended_is_refused() { refuses 1 "ended already" --parent-death=4194303 -p 0 -e "$(export_scratch)"; }
case_ephemeral_with_a_state_directory_is_refused() { refuses 2 state_dir --ephemeral -e "$(export_scratch)"; }

case_ephemeral_does_not_read_etc_exports() {
    local output status=0
    output=$(timeout 10 "$RINGNFSD" --ephemeral 2>&1) || status=$?
    [[ $status == 2 && $output == *"nothing to export"* ]] || fail "status $status: $output"
}

case_check_accepts_what_is_right_and_starts_nothing() {
    timeout 10 "$RINGNFSD" --check --set state_dir="$scratch/state" -p 0 -e "$(export_scratch)" || fail "status $?"
}

case_check_refuses_what_is_wrong() { refuses 2 frob --check -p 0 -e "$scratch *(frob)"; }

case_check_tells_all_mistakes() {
    local status=0
    "$RINGNFSD" --check -p 0 -e "$scratch *(frob)" -e "nowhere *" -e "memory:/a *(rtmax=1)" 2>"$scratch/said" || status=$?
    ((status == 2)) || fail "status $status"
    [[ $(grep -c 'export:[123]:[0-9]*: ' "$scratch/said") == 3 && $(wc -l <"$scratch/said") == 3 ]] || fail "$(<"$scratch/said")"
}

case_check_works_beside_a_running_server() {
    start_server -e "$(export_scratch)" || fail "does not start"
    timeout 10 "$RINGNFSD" --check --set state_dir="$scratch/state" -p "$nfs_port" -e "$(export_scratch)" || fail "status $?"
}

case_a_cpu_that_is_not_there_is_refused() {
    refuses 1 "cpu_affinity: CPU 1023 is none that this process may use" --set cpu_affinity=1023 -p 0 -e "$(export_scratch)"
}

case_a_list_of_cpus_that_is_none_is_refused() {
    refuses 2 "cpu_affinity: 0;1 is no list of CPUs" --set "cpu_affinity=0;1" -p 0 -e "$(export_scratch)"
}

# What somaxconn is can be set in a network of one's own.
case_a_backlog_that_the_kernel_caps_is_told_with_its_sysctl() {
    root_only
    unshare -n true 2>/dev/null || skip "no network namespaces here"
    # shellcheck disable=SC2016     # these are for the inner shell
    launch unshare -n sh -c 'ip link set lo up; echo 17 >/proc/sys/net/core/somaxconn; exec "$0" "$@"' \
        "$RINGNFSD" -p 0 -a 127.0.0.1 --set backlog=18 -e "$(export_scratch)" || fail "does not start"
    grep "warning.*backlog: the kernel allows 17 of 18" "$scratch/server.log" | grep -q net.core.somaxconn ||
        fail "$(<"$scratch/server.log")"
}

case_what_the_kernel_does_not_cap_is_not_told() {
    start_server -e "$(export_scratch)" --set backlog=1 --set socket_buffer=4K || fail "does not start"
    ! grep "the kernel allows" "$scratch/server.log" || fail "told all the same"
}

case_the_config_file_is_heeded() {
    printf 'threads = 3\nport = 0\n' >"$scratch/ringnfs.conf"
    launch "$RINGNFSD" -a 127.0.0.1 -c "$scratch/ringnfs.conf" -e "$(export_scratch)" || fail "does not start"
    [[ $nfs_port != 2049 ]] || fail "the port was not taken from the file"
    nfs null "$nfs_port"
}

run_cases
