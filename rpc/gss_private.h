/* rpc/gss_private.h - between gss.c, where contexts are made, and gss_call.c, where calls use them. */
#ifndef RINGNFS_RPC_GSS_PRIVATE_H
#define RINGNFS_RPC_GSS_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "rpc/gss.h"
#include "rpc/gss_table.h"

/* A token of a client, and what comes of it. */
struct gss_job {
    STAILQ_ENTRY(gss_job) next;
    struct gss *gss;
    struct gss_call *waiter;            /* NULL: nobody waits any more */
    struct gss_context *context;        /* a reference */
    bool listed;                        /* the context is in the table */
    struct gss_accepted accepted;
    uint8_t mic[GSS_MIC_MAX];           /* over the size of the window, once it is complete */
    size_t len;
    uint8_t token[];
};

/* What a call has of RPCSEC_GSS; in its arena. */
struct gss_call {
    struct loop_message message;        /* first; a context was made */
    struct call *call;
    struct gss_job *job;                /* which is over; NULL: it was given up */
    struct gss_context *context;        /* a reference; NULL: there is none */
    enum gss_service service;           /* of the reply */
    uint32_t seq;
    size_t mic_len;                     /* 0: the reply's verifier is AUTH_NONE */
    uint8_t mic[GSS_MIC_MAX];
};

struct gss {
    struct gss_config config;
    void *mech;
    struct gss_table *table;
    uint8_t hash_key[16];
    _Atomic bool allowed;
    _Atomic uint64_t made, refused, replayed;

    pthread_t thread;
    bool started;                       /* it was; gss_allow()'s */

    pthread_mutex_t lock;               /* of all below */
    pthread_cond_t work;                /* there is a job, or the end */
    STAILQ_HEAD(, gss_job) jobs;
    struct gss_job *current;            /* the thread's */
    uint32_t waiting;
    bool stopping;
    bool ended;                         /* the thread looks at nothing here any more */
    bool abandoned;                     /* the thread frees everything */
};

/* Whether a major status is an error (RFC 2203 appendix A); else it is "complete" or "go on". */
static inline bool
gss_failed(const struct gss_accepted *accepted)
{
    return (accepted->major & 0xffff0000u) != 0;
}

/*
 * Have the thread do a job; its waiter's message is posted when it is over. Returns 0; -EAGAIN when too many wait,
 * or -ESHUTDOWN when it is too late, and then the job is still the caller's.
 */
int gss_queue(struct gss *gss, struct gss_job *job);

void gss_job_free(struct gss_job *job);

#endif
