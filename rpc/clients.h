/*
 * rpc/clients.h - what each client has of the server: connections, and memory for his calls and their replies; so that one
 * cannot have all of it.
 *
 * A client is an IPv4 address, or the first 64 bits of an IPv6 address: whoever has one address of such a network can have
 * all of them. Any thread.
 */
#ifndef RINGNFS_RPC_CLIENTS_H
#define RINGNFS_RPC_CLIENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct clients;

struct client {
    struct client *next;                /* clients.c's, like the next four */
    uint64_t network;
    sa_family_t family;
    uint32_t connections;
    uint32_t refs;
    _Atomic uint64_t held_bytes;        /* of buffers, as far as client_hold() was told */
    _Atomic uint32_t calls;             /* under way, as of the last turn of each worker */
};

/* At most `max` connections for each. Returns 0 or -errno. */
int clients_new(uint32_t max, struct clients **clients);

/* Another bound, for connections to come. Any thread. */
void clients_set_max(struct clients *clients, uint32_t max);

/* No client has a connection. NULL is fine. */
void clients_free(struct clients *clients);

/*
 * One more connection of this client, and a reference to him. Returns 0; -EUSERS when he has as many as he may, -ENOMEM.
 * *client is NULL for addresses of other families, which are not counted, and where clients is NULL: there is no bound
 * then.
 */
int clients_enter(struct clients *clients, const struct sockaddr *peer, struct client **client);

/* One that was counted is closed; give the reference back. client may be NULL. */
void clients_leave(struct clients *clients, struct client *client);
void clients_put(struct clients *clients, struct client *client);

/* Whether the address is this client's; client may be NULL. */
bool clients_is(const struct client *client, const struct sockaddr *peer);

/* A hash of the client behind an address, for where clients share something and need not be told apart for certain. */
uint32_t clients_hash(const struct sockaddr *peer);

/* He has so many bytes more (or less). */
static inline void
client_hold(struct client *client, uint64_t more, uint64_t less)
{
    if (client != NULL && more != less)
        atomic_fetch_add_explicit(&client->held_bytes, more - less, memory_order_relaxed);
}

/* So many calls of his have begun, and so many are over. */
static inline void
client_count_calls(struct client *client, uint32_t begun, uint32_t over)
{
    if (client != NULL && begun != over)
        atomic_fetch_add_explicit(&client->calls, begun - over, memory_order_relaxed);
}

static inline uint32_t
client_calls(const struct client *client)
{
    return client != NULL ? atomic_load_explicit(&client->calls, memory_order_relaxed) : 0;
}

static inline uint64_t
client_held(const struct client *client)
{
    return client != NULL ? atomic_load_explicit(&client->held_bytes, memory_order_relaxed) : 0;
}

#endif
