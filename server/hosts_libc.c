/* server/hosts_libc.c - the names that this machine knows: /etc/hosts, DNS, and whatever else nsswitch.conf(5) says. */
#include "server/hosts.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define HOSTENT_BYTES 8192

/* innetgr(3) is not for several threads, and each server has several of its own. */
static pthread_mutex_t netgroup_lock = PTHREAD_MUTEX_INITIALIZER;

/* 0 for "there is none", which is an answer. */
static int
failure(int gai)
{
    switch (gai) {
    case 0:
    case EAI_NONAME:
#ifdef EAI_NODATA
    case EAI_NODATA:
#endif
        return 0;
    case EAI_MEMORY:
        return -ENOMEM;
    case EAI_SYSTEM:
        return errno != 0 ? -errno : -EIO;
    case EAI_AGAIN:
        return -EAGAIN;
    default:
        return -EIO;
    }
}

static int
libc_addresses(void *context, const char *name, struct hosts_addresses *addresses)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM };
    struct addrinfo *found = NULL, *each;
    int gai;

    (void)context;
    errno = 0;
    gai = getaddrinfo(name, NULL, &hints, &found);
    if (gai != 0)
        return failure(gai);
    for (each = found; each != NULL && addresses->count < HOSTS_ADDRESSES_MAX; each = each->ai_next)
        peer_address_init(&addresses->list[addresses->count++], each->ai_addr);
    freeaddrinfo(found);
    return 0;
}

static socklen_t
make_sockaddr(struct sockaddr_storage *storage, const struct peer_address *address)
{
    struct sockaddr_in *in = (struct sockaddr_in *)storage;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)storage;

    memset(storage, 0, sizeof(*storage));
    if (address->bits == PEER_BITS4) {
        in->sin_family = AF_INET;
        memcpy(&in->sin_addr, address->bytes, sizeof(in->sin_addr));
        return sizeof(*in);
    }
    in6->sin6_family = AF_INET6;
    memcpy(&in6->sin6_addr, address->bytes, sizeof(in6->sin6_addr));
    return sizeof(*in6);
}

static int
libc_name(void *context, const struct peer_address *address, struct hosts_names *names)
{
    struct sockaddr_storage storage;
    socklen_t len = make_sockaddr(&storage, address);
    int gai;

    (void)context;
    errno = 0;
    gai = getnameinfo((struct sockaddr *)&storage, len, names->list[0], HOSTS_NAME_BYTES, NULL, 0, NI_NAMEREQD);
    names->count = gai == 0;
    return gai == EAI_OVERFLOW ? 0 : failure(gai);      /* a name that is too long for DNS is none */
}

static int
libc_aliases(void *context, const char *name, struct hosts_names *names)
{
    struct hostent entry, *found = NULL;
    char memory[HOSTENT_BYTES];
    int h_err = 0;

    (void)context;
    if (gethostbyname2_r(name, AF_INET, &entry, memory, sizeof(memory), &found, &h_err) != 0 || found == NULL)
        return h_err == TRY_AGAIN ? -EAGAIN : 0;
    for (char **alias = entry.h_aliases; *alias != NULL && names->count < HOSTS_NAMES_MAX; alias++) {
        if (strlen(*alias) < HOSTS_NAME_BYTES)
            strcpy(names->list[names->count++], *alias);
    }
    return 0;
}

static int
libc_in_netgroup(void *context, const char *netgroup, const char *host, bool *member)
{
    (void)context;
    pthread_mutex_lock(&netgroup_lock);
    *member = innetgr(netgroup, host, NULL, NULL) == 1;
    pthread_mutex_unlock(&netgroup_lock);
    return 0;
}

static uint64_t
libc_now_ms(void *context)
{
    struct timespec now;

    (void)context;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

const struct hosts_source hosts_libc = {
    .addresses = libc_addresses,
    .name = libc_name,
    .aliases = libc_aliases,
    .in_netgroup = libc_in_netgroup,
    .now_ms = libc_now_ms,
};
