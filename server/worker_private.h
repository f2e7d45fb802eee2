/* server/worker_private.h - between worker.c, the worker's thread, and worker_post.c, what others have it do. */
#ifndef RINGNFS_SERVER_WORKER_PRIVATE_H
#define RINGNFS_SERVER_WORKER_PRIVATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rpc/handed.h"
#include "rpc/loop.h"
#include "server/worker.h"

struct listener;

struct worker_listener {
    struct listener *listener;
    SLIST_ENTRY(worker_listener) next;
};

struct worker_private {
    pthread_t thread;
    sem_t reached;                      /* the thread has done what its maker waits for */
    int start_err;
    enum cred_mode cred_mode;
    struct loop_fd engine_watch;
    struct loop_timer log_timer;
    SLIST_HEAD(, worker_listener) listeners;
    struct loop_message stop_listening_message;
    struct loop_message stop_message;
    struct loop_message pause_message, reset_message;
    bool pause;
    struct loop_message listening_message;  /* posted and waited for by one at a time, like the next two */
    bool pause_listening;
    struct loop_message freeze_message;
    struct loop_message thaw_message;
    sem_t *frozen;
    int freeze_err;
    struct handed_list connections;     /* copied when it froze */
    struct worker *worker;
    uint64_t drain_ms;
    bool stopping;                      /* drained, or no longer willing to wait for the last replies */
};

#endif
