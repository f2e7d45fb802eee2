/* server/delay.c - see delay.h. */
#include "server/delay.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/param.h>

#define MS_NS 1000000u

void
delay_queue_init(struct delay_queue *queue, struct loop *loop, const struct rate *rate, struct delay_budget *budget)
{
    queue->loop = loop;
    queue->rate = rate;
    queue->budget = budget;
    queue->ended = false;
    TAILQ_INIT(&queue->list);
}

void
delay_queue_fini(struct delay_queue *queue)
{
    assert(TAILQ_EMPTY(&queue->list));
    (void)queue;
}

static void
let_go(struct delay *delay)
{
    struct delay_queue *queue = delay->queue;

    TAILQ_REMOVE(&queue->list, delay, link);
    atomic_fetch_sub_explicit(&queue->budget->used_bytes, delay->bytes, memory_order_relaxed);
    delay->over(delay);
}

static void fired(struct loop_timer *timer);

static void
arm(struct delay *delay, uint64_t now_ns)
{
    loop_timer_start(delay->queue->loop, &delay->timer, howmany(delay->due_ns - now_ns, MS_NS), fired);
}

/* The loop's clock is read once in a turn, so a timer may be early. */
static void
fired(struct loop_timer *timer)
{
    struct delay *delay = (struct delay *)timer;
    uint64_t now_ns = rate_now_ns(delay->queue->rate);

    if (now_ns < delay->due_ns)
        arm(delay, now_ns);
    else
        let_go(delay);
}

int
delay_start(struct delay_queue *queue, struct delay *delay, uint64_t due_ns, size_t bytes)
{
    struct delay_budget *budget = queue->budget;
    uint64_t now_ns = rate_now_ns(queue->rate);

    if (queue->ended)
        return -ECANCELED;
    if (atomic_fetch_add_explicit(&budget->used_bytes, bytes, memory_order_relaxed) + bytes > budget->max_bytes) {
        atomic_fetch_sub_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
        return -EAGAIN;
    }
    delay->queue = queue;
    delay->due_ns = due_ns;
    delay->bytes = bytes;
    TAILQ_INSERT_TAIL(&queue->list, delay, link);
    arm(delay, MIN(now_ns, due_ns));
    return 0;
}

/* What is delayed meanwhile, by those that are let go, stays. */
void
delay_release(struct delay_queue *queue)
{
    const struct delay *last = TAILQ_LAST(&queue->list, delay_list);
    struct delay *delay = NULL;

    while (delay != last) {
        delay = TAILQ_FIRST(&queue->list);
        loop_timer_stop(queue->loop, &delay->timer);
        let_go(delay);
    }
}

void
delay_end(struct delay_queue *queue)
{
    queue->ended = true;
    delay_release(queue);
}

void
delay_resume(struct delay_queue *queue)
{
    queue->ended = false;
}
