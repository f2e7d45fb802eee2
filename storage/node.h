/* storage/node.h - what the nodes of every store begin with; for stores and store.c only. */
#ifndef RINGNFS_STORAGE_NODE_H
#define RINGNFS_STORAGE_NODE_H

struct store;

/* First member of a store's own node. */
struct store_node {
    struct store *store;
};

#endif
