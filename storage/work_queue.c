/* storage/work_queue.c - what waits for a thread, and who is next; see work_queue.h. */
#include "storage/work_queue.h"

#include <stdbool.h>
#include <string.h>

void
work_queue_init(struct work_queue *queue)
{
    memset(queue, 0, sizeof(*queue));
    TAILQ_INIT(&queue->turns);
}

static bool
is_empty(const struct work_list *list)
{
    return list->first == NULL;
}

static void
append(struct work_list *list, struct pool_work *work)
{
    work->next = NULL;
    if (is_empty(list))
        list->first = work;
    else
        list->last->next = work;
    list->last = work;
}

static struct pool_work *
take_first(struct work_list *list)
{
    struct pool_work *work = list->first;

    list->first = work->next;
    return work;
}

static struct work_lane *
lane_of(struct work_queue *queue, const struct pool_work *work)
{
    return &queue->lanes[work->client % WORK_LANES];
}

/* NULL for what is in nobody's way. */
static struct work_spot *
spot_of(struct work_queue *queue, uint32_t object)
{
    return object != 0 ? &queue->spots[object % WORK_SPOTS] : NULL;
}

void
work_queue_add(struct work_queue *queue, struct pool_work *first)
{
    struct pool_work *next;

    for (struct pool_work *work = first; work != NULL; work = next) {
        struct work_lane *lane = lane_of(queue, work);

        next = work->next;
        if (is_empty(&lane->list))
            TAILQ_INSERT_TAIL(&queue->turns, lane, turn);
        append(&lane->list, work);
        queue->queued++;
    }
}

struct pool_work *
work_queue_take(struct work_queue *queue, unsigned limit)
{
    struct work_lane *lane;

    while ((lane = TAILQ_FIRST(&queue->turns)) != NULL) {
        struct pool_work *work = take_first(&lane->list);
        struct work_spot *spot = spot_of(queue, work->object);
        bool steps_aside = spot != NULL && spot->out >= limit;

        if (is_empty(&lane->list)) {
            TAILQ_REMOVE(&queue->turns, lane, turn);
        } else if (!steps_aside) {
            TAILQ_REMOVE(&queue->turns, lane, turn);
            TAILQ_INSERT_TAIL(&queue->turns, lane, turn);
        }
        if (steps_aside) {
            append(&spot->aside, work);
            continue;
        }
        if (spot != NULL)
            spot->out++;
        queue->queued--;
        return work;
    }
    return NULL;
}

/* The oldest that stepped aside is the first of its lane: it has waited for longer than what came there since. */
void
work_queue_over(struct work_queue *queue, uint32_t object)
{
    struct work_spot *spot = spot_of(queue, object);
    struct work_lane *lane;
    struct pool_work *work;

    if (spot == NULL)
        return;
    spot->out--;
    if (is_empty(&spot->aside))
        return;
    work = take_first(&spot->aside);
    lane = lane_of(queue, work);
    if (is_empty(&lane->list)) {
        TAILQ_INSERT_TAIL(&queue->turns, lane, turn);
        lane->list.last = work;
    }
    work->next = lane->list.first;
    lane->list.first = work;
}
