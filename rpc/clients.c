/* rpc/clients.c - a table of clients; one is in it as long as somebody refers to him. */
#include "rpc/clients.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BUCKETS 1024

struct clients {
    pthread_mutex_t lock;
    uint32_t max;
    uint64_t seed;                      /* of the hash: nobody outside can choose who shares a bucket */
    struct client *buckets[BUCKETS];
};

int
clients_new(uint32_t max, struct clients **out)
{
    struct clients *clients = calloc(1, sizeof(*clients));

    if (clients == NULL)
        return -ENOMEM;
    if (getrandom(&clients->seed, sizeof(clients->seed), 0) != sizeof(clients->seed)) {
        free(clients);
        return -EIO;
    }
    pthread_mutex_init(&clients->lock, NULL);
    clients->max = max;
    *out = clients;
    return 0;
}

void
clients_set_max(struct clients *clients, uint32_t max)
{
    pthread_mutex_lock(&clients->lock);
    clients->max = max;
    pthread_mutex_unlock(&clients->lock);
}

void
clients_free(struct clients *clients)
{
    struct client *client;

    if (clients == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        while ((client = clients->buckets[i]) != NULL) {
            clients->buckets[i] = client->next;
            free(client);
        }
    }
    pthread_mutex_destroy(&clients->lock);
    free(clients);
}

/* What counts of an address; false when it is of another family. */
static bool
read_network(const struct sockaddr *peer, struct client *client)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)peer;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;

    client->family = peer->sa_family;
    if (peer->sa_family == AF_INET)
        client->network = in->sin_addr.s_addr;
    else if (peer->sa_family == AF_INET6)
        memcpy(&client->network, in6->sin6_addr.s6_addr, sizeof(client->network));
    return peer->sa_family == AF_INET || peer->sa_family == AF_INET6;
}

uint32_t
clients_hash(const struct sockaddr *peer)
{
    struct client client = { .network = 0 };

    (void)read_network(peer, &client);
    return (uint32_t)((client.network + client.family) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

bool
clients_is(const struct client *client, const struct sockaddr *peer)
{
    struct client wanted;

    return client != NULL && read_network(peer, &wanted) && client->family == wanted.family &&
           client->network == wanted.network;
}

/* Where the client's entry is, or would be. */
static struct client **
find(struct clients *clients, const struct client *wanted)
{
    uint64_t x = (wanted->network ^ clients->seed) * 0x9e3779b97f4a7c15u;
    struct client **at;

    x = (x ^ x >> 32 ^ clients->seed) * 0x9e3779b97f4a7c15u;
    at = &clients->buckets[(x >> 32) % BUCKETS];
    while (*at != NULL && ((*at)->network != wanted->network || (*at)->family != wanted->family))
        at = &(*at)->next;
    return at;
}

static int
enter(struct clients *clients, const struct client *wanted, struct client **client)
{
    struct client **at = find(clients, wanted);

    if (*at == NULL) {
        *at = calloc(1, sizeof(**at));
        if (*at == NULL)
            return -ENOMEM;
        (*at)->network = wanted->network;
        (*at)->family = wanted->family;
    }
    if ((*at)->connections >= clients->max)
        return -EUSERS;
    (*at)->connections++;
    (*at)->refs++;
    *client = *at;
    return 0;
}

int
clients_enter(struct clients *clients, const struct sockaddr *peer, struct client **client)
{
    struct client wanted;
    int err;

    *client = NULL;
    if (clients == NULL || !read_network(peer, &wanted))
        return 0;
    pthread_mutex_lock(&clients->lock);
    err = enter(clients, &wanted, client);
    pthread_mutex_unlock(&clients->lock);
    return err;
}

void
clients_leave(struct clients *clients, struct client *client)
{
    if (client == NULL)
        return;
    pthread_mutex_lock(&clients->lock);
    client->connections--;
    pthread_mutex_unlock(&clients->lock);
}

void
clients_put(struct clients *clients, struct client *client)
{
    if (client == NULL)
        return;
    pthread_mutex_lock(&clients->lock);
    if (--client->refs == 0) {
        *find(clients, client) = client->next;
        free(client);
    }
    pthread_mutex_unlock(&clients->lock);
}
