#!/usr/bin/env bash
# File systems mounted inside of exports (crossmnt), where the server is an ordinary user's. What root's does is in
# tests/live/test_mounts_inside.c.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Mount in a namespace of our own, so that nothing is left behind whatever happens.
if ((EUID == 0)) && [[ -z ${IN_OWN_NAMESPACE-} ]]; then
    IN_OWN_NAMESPACE=yes unshare --mount true 2>/dev/null && IN_OWN_NAMESPACE=yes exec unshare --mount "$0"
fi

somebody=65534

# The export, with a file system on m, another one in that, and a directory mounted once more on b.
prepare() {
    root_only
    [[ -n ${IN_OWN_NAMESPACE-} ]] || skip "no mount namespace can be made"
    mkdir -p "$scratch/x/m/underneath" "$scratch/x/b" "$scratch/x/source/bound" "$scratch/state"
    mount -t tmpfs -o mode=1777 tmpfs "$scratch/x/m" || skip "nothing can be mounted"
    mkdir -p "$scratch/x/m/n" "$scratch/x/m/inside"
    mount -t tmpfs -o mode=1777 tmpfs "$scratch/x/m/n"
    mkdir "$scratch/x/m/n/deep"
    mount --bind "$scratch/x/source" "$scratch/x/b"
    chown -R "$somebody:$somebody" "$scratch"
}

# start_as_somebody OPTION: with it behind the others of the export.
start_as_somebody() {
    launch setpriv --reuid "$somebody" --regid "$somebody" --clear-groups "$RINGNFSD" -p 0 -a 127.0.0.1 \
        -e "$scratch/x *(rw,insecure,$1)" || fail "does not start"
}

# find_dir PATH: look its names up one by one from the export's root; prints the handle.
find_dir() {
    local handle name
    handle=$(nfs mnt "$mount_port" "$scratch/x") || return
    for name in ${1//\// }; do
        handle=$(nfs lookup "$nfs_port" "$handle" "$name") || return
    done
    echo "$handle"
}

case_with_crossmnt_an_ordinary_users_server_follows_mounts() {
    local path
    prepare
    start_as_somebody crossmnt
    for path in m/inside m/n/deep b/bound; do
        find_dir "$path" >/dev/null || fail "$path is not found"
    done
    [[ $(find_dir m/n) == "$(nfs mnt "$mount_port" "$scratch/x/m/n")" ]] || fail "LOOKUP and MNT lead to different places"
    nfs create "$nfs_port" "$(find_dir m/n)" new >/dev/null || fail "nothing can be made there"
    [[ -e $scratch/x/m/n/new ]] || fail "it was made elsewhere"
}

case_without_it_what_is_mounted_is_shut_and_what_is_underneath_too() {
    local path
    prepare
    start_as_somebody nocrossmnt
    for path in m b; do
        ! find_dir "$path" >/dev/null 2>&1 || fail "$path is found"
        ! nfs mnt "$mount_port" "$scratch/x/$path" >/dev/null 2>&1 || fail "$path is mounted"
    done
    find_dir source/bound >/dev/null || fail "source/bound is not found"
}

run_cases
