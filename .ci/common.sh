# shellcheck shell=bash disable=SC2034
# .ci/common.sh - what ./serve and ./check share: the packages that are needed, and the build.

# One line a thing: how to find out whether it is there | its package in Debian and Ubuntu | Fedora | Alpine | Arch
build_needs=(
    "command autoconf|autoconf|autoconf|autoconf|autoconf"
    "command automake|automake|automake|automake|automake"
    "command make|make|make|make|make"
    "command gcc|gcc|gcc|gcc|gcc"
    "header stdio.h|libc6-dev|glibc-devel|musl-dev|glibc"
    "command pkg-config|pkg-config|pkgconf-pkg-config|pkgconf|pkgconf"
    "command rpcgen|rpcsvc-proto|rpcgen|rpcsvc-proto|rpcsvc-proto"
    "module libtirpc|libtirpc-dev|libtirpc-devel|libtirpc-dev|libtirpc"
    "module liburing|liburing-dev|liburing-devel|liburing-dev|liburing"
    "header ev.h|libev-dev|libev-devel|libev-dev|libev"
    "module inih|libinih-dev|inih-devel|inih-dev|libinih"
    "module jansson|libjansson-dev|jansson-devel|jansson-dev|jansson"
    "module mit-krb5-gssapi|libkrb5-dev|krb5-devel|krb5-dev|krb5"
    "module libseccomp|libseccomp-dev|libseccomp-devel|libseccomp-dev|libseccomp"
    "module libarchive|libarchive-dev|libarchive-devel|libarchive-dev|libarchive"
    "module blkid|libblkid-dev|libblkid-devel|util-linux-dev|util-linux"
)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }

is_debian() { [[ -e /etc/debian_version ]] && command -v apt-get dpkg-query >/dev/null; }

# have KIND NAME: is it there?
have() {
    case $1 in
        command) command -v "$2" >/dev/null ;;
        module) command -v pkg-config >/dev/null && pkg-config --exists "$2" ;;
        header) command -v gcc >/dev/null && gcc -E -x c -include "$2" /dev/null >/dev/null 2>&1 ;;
        package) is_debian && [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$2" 2>/dev/null) == ii* ]] ;;
    esac
}

# Sets the array missing to the lines among the arguments whose thing is not there.
find_missing() {
    local need kind name
    missing=()
    for need; do
        read -r kind name <<<"${need%%|*}"
        have "$kind" "$name" || missing+=("$need")
    done
}

# column N NEED...: the N-th column of the lines, in one line.
column() {
    local n=$1
    shift
    printf '%s\n' "$@" | cut -d'|' -f"$n" | xargs
}

apt_get() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"
}

# Install packages by name; the lists are fetched anew when it does not work without.
apt_install() {
    apt_get install --no-install-recommends "$@" >/dev/null 2>&1 </dev/null ||
        { apt_get update && apt_get install --no-install-recommends "$@"; } </dev/null >&2
}

# need WHAT-FOR NEED...: install what is missing, or say what to install and fail.
need() {
    local purpose=$1 packages
    shift
    find_missing "$@"
    ((${#missing[@]})) || return 0
    if ((EUID == 0)) && is_debian; then
        read -ra packages <<<"$(column 2 "${missing[@]}")"
        say "installing ${packages[*]}"
        apt_install "${packages[@]}" || say "apt-get failed"
        find_missing "$@"
        ((${#missing[@]})) || return 0
    fi
    say "$purpose needs packages that are not installed; as root:"
    {
        echo "  Debian, Ubuntu:  apt-get install $(column 2 "${missing[@]}")"
        echo "  Fedora:          dnf install $(column 3 "${missing[@]}")"
        echo "  Alpine:          apk add $(column 4 "${missing[@]}")"
        echo "  Arch:            pacman -S $(column 5 "${missing[@]}")"
    } >&2
    return 1
}

# build_tree DIR [CONFIGURE-OPTION...]: configure if that has not been done, and make. Run in the top folder. The output
# is shown only when it fails.
build_tree() {
    local dir=$1
    shift
    mkdir -p "$dir"
    if ! build_quietly "$dir" "$@" >"$dir/build.log" 2>&1; then
        tail -n 40 "$dir/build.log" >&2
        say "the build failed; all of its output is in $dir/build.log"
        return 1
    fi
}

build_quietly() {
    local dir=$1
    shift
    prepare_configure &&
        { [[ -e $dir/Makefile ]] || (cd "$dir" && "$OLDPWD/configure" "$@"); } &&
        make -C "$dir" -j"$(nproc)"
}

# Several builds at once must not run autoreconf at once.
prepare_configure() {
    exec {configure_lock}<configure.ac
    flock "$configure_lock"
    [[ -e configure && -e config.h.in ]] || autoreconf -i || { exec {configure_lock}<&-; return 1; }
    exec {configure_lock}<&-
}
