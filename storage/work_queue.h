/*
 * storage/work_queue.h - what waits for a thread, and who is next: clients take turns, and no object holds all threads.
 *
 * Each client's work waits in a lane of its own, oldest first, and lanes take turns, so a client with a thousand calls
 * delays another's one by a single piece. Of the work on one object, a file or directory, only so many pieces are out at
 * once; what is beyond steps aside until one of them is over, so that a file whose disk hangs leaves threads for others.
 *
 * Clients and objects are told apart by hashes, so two may have to share. No locks: the owner has one.
 */
#ifndef RINGNFS_STORAGE_WORK_QUEUE_H
#define RINGNFS_STORAGE_WORK_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define WORK_LANES 64                   /* powers of two */
#define WORK_SPOTS 1024

/* One piece of work, embedded in what it is about. run() owns it from then on. */
struct pool_work {
    struct pool_work *next;
    void (*run)(struct pool_work *work);
    uint32_t client;                    /* hashes; 0: nobody's, and of nothing that could be in the way of others */
    uint32_t object;
};

struct work_list {
    struct pool_work *first, *last;
};

struct work_lane {
    struct work_list list;
    TAILQ_ENTRY(work_lane) turn;        /* while there is something in it */
};

struct work_spot {
    struct work_list aside;             /* beyond the limit */
    unsigned out;                       /* taken and not over */
};

struct work_queue {
    struct work_lane lanes[WORK_LANES];
    TAILQ_HEAD(, work_lane) turns;
    struct work_spot spots[WORK_SPOTS];
    unsigned queued;                    /* pieces, those aside included */
};

void work_queue_init(struct work_queue *queue);

/* Add a list of work linked by next, first to last. */
void work_queue_add(struct work_queue *queue, struct pool_work *first);

/*
 * The next piece, of which at most `limit` (> 0) of one object are out; NULL when there is none. work_queue_over() follows
 * when it has been run, with what its object was.
 */
struct pool_work *work_queue_take(struct work_queue *queue, unsigned limit);
void work_queue_over(struct work_queue *queue, uint32_t object);

#endif
