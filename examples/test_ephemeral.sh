#!/usr/bin/env bash
# A test in shell that has an NFS server of its own, with libnfs' tools as the client.
#
#   usage: test_ephemeral.sh        the daemon is $RINGNFSD, or ringnfsd on the PATH
#
# The server ends with this script, even if that is killed, and leaves nothing behind. It needs no privilege.
set -euo pipefail

# Its first line comes once calls are answered; none, if it does not start.
exec {ports}< <(exec "${RINGNFSD:-ringnfsd}" --ephemeral --parent-death=$$ --print-ports -e 'memory:/x *(rw,insecure)')
server=$!
read -r line <&"$ports" || { echo "the server does not start" >&2; exit 1; }

# field NAME: of the first export.
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" <<<"$line"; }

# url PATH: of a file in it.
url() { local base; base=$(field url); printf '%s' "${base%%\?*}$1?${base#*\?}"; }

command -v nfs-cp >/dev/null || { echo "libnfs' tools are not installed"; exit 77; }
file=$(mktemp)
trap 'rm -f "$file"; kill "$server" 2>/dev/null || true' EXIT

echo "hello" >"$file"
nfs-cp "$file" "$(url /greeting)"
[[ $(nfs-cat "$(url /greeting)") == hello ]]
nfs-ls "$(url '')" | grep -q greeting
echo "what is written is read and listed; by the kernel's client it would be mounted with: $(field command)"
