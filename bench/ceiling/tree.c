/* bench/ceiling/tree.c - names, attributes and data: a hash table and one backing file. */
#include "bench/ceiling/ceiling.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS (1u << 17)
#define DAMAGE_EVERY 1024               /* bytes, so that each READ of a test meets some */

struct node *nodes;
uint32_t nnodes;
static uint32_t cap_nodes, free_node, buckets[BUCKETS];

void *
grow(void *p, size_t n)
{
    p = realloc(p, n);
    if (!p)
        die("out of memory");
    return p;
}

static uint32_t *
bucket(uint32_t dir, const uint8_t *name, uint32_t len)
{
    uint32_t h = 2166136261u ^ dir, i;

    for (i = 0; i < len; i++)
        h = (h ^ name[i]) * 16777619u;
    return &buckets[(h ^ h >> 17) % BUCKETS];
}

uint32_t
find(uint32_t dir, const uint8_t *name, uint32_t len)
{
    uint32_t i;

    for (i = *bucket(dir, name, len); i; i = nodes[i].hash_next)
        if (nodes[i].parent == dir && !memcmp(nodes[i].name, name, len) && !nodes[i].name[len])
            return i;
    return 0;
}

static void
add_child(uint32_t dir, uint32_t i)
{
    struct node *d = &nodes[dir];
    uint32_t k = d->hint;

    while (k < d->nslots && d->children[k])
        k++;
    if (k == d->nslots) {
        uint32_t n = d->nslots * 2 + 16;

        d->children = grow(d->children, n * sizeof(*d->children));
        memset(d->children + d->nslots, 0, (n - d->nslots) * sizeof(*d->children));
        d->nslots = n;
    }
    d->children[k] = i;
    d->hint = k + 1;
    nodes[i].slot = k;
}

void
link_node(uint32_t i, uint32_t dir, const uint8_t *name, uint32_t len)
{
    uint32_t *b = bucket(dir, name, len);

    memcpy(nodes[i].name, name, len);
    nodes[i].name[len] = 0;
    nodes[i].parent = dir;
    nodes[i].hash_next = *b;
    *b = i;
    add_child(dir, i);
}

void
unlink_node(uint32_t i)
{
    struct node *n = &nodes[i], *d = &nodes[n->parent];
    uint32_t *b = bucket(n->parent, (uint8_t *)n->name, (uint32_t)strlen(n->name));

    while (*b != i)
        b = &nodes[*b].hash_next;
    *b = n->hash_next;
    d->children[n->slot] = 0;
    if (n->slot < d->hint)
        d->hint = n->slot;
}

uint32_t
new_node(uint32_t type)
{
    uint32_t i = free_node;

    if (i) {
        free_node = nodes[i].hash_next;
    } else {
        if (nnodes == cap_nodes) {
            cap_nodes = cap_nodes * 2 + 1024;
            nodes = grow(nodes, cap_nodes * sizeof(*nodes));
        }
        i = nnodes++;
    }
    memset(&nodes[i], 0, sizeof(nodes)[i]);
    nodes[i].type = type;
    nodes[i].used = true;
    nodes[i].mtime = (uint64_t)time(NULL);
    return i;
}

void
drop_node(uint32_t i)
{
    free(nodes[i].children);
    nodes[i].children = NULL;
    nodes[i].used = false;
    nodes[i].hash_next = free_node;
    free_node = i;
}

off_t
data_at(uint32_t i, uint64_t off)
{
    return (off_t)((uint64_t)i << REGION | off);
}

bool
set_size(uint32_t i, uint64_t size)
{
    struct stat st;

    if (size > FILE_MAX)
        return false;
    if (fstat(ceiling.backing, &st) < 0 ||
        (st.st_size < data_at(i + 1, 0) && ftruncate(ceiling.backing, data_at(i + 1, 0)) < 0))
        die("%s: %s", ceiling.file, strerror(errno));
    nodes[i].size = size;
    return true;
}

void
store(uint32_t i, uint64_t off, const uint8_t *data, size_t n)
{
    bool over = off + n <= nodes[i].size;

    if (ceiling.lie == LIE_FORGET && over)
        return;
    if (pwrite(ceiling.backing, data, n, data_at(i, off)) != (ssize_t)n)
        die("pwrite: %s", strerror(errno));
    for (size_t at = 0; ceiling.lie == LIE_DAMAGE && at < n; at += DAMAGE_EVERY)
        if (pwrite(ceiling.backing, "\xa5", 1, data_at(i, off + at)) != 1)
            die("pwrite: %s", strerror(errno));
    if (!over)
        nodes[i].size = off + n;
}
