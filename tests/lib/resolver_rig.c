/* tests/lib/resolver_rig.c - see resolver_rig.h. */
#include "tests/lib/resolver_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

static void
no_work(void *context)
{
    (void)context;
}

static void *
loop_main(void *arg)
{
    loop_run(arg);
    return NULL;
}

void
resolver_rig_init(struct resolver_rig *rig)
{
    rig->log_file = tmpfile();
    assert_non_null(rig->log_file);
    rig->log = (struct log){ .level = LOG_INFO_LEVEL, .fd = fileno(rig->log_file) };
    assert_int_equal(loop_new(no_work, NULL, &rig->loop), 0);
    assert_int_equal(pthread_create(&rig->thread, NULL, loop_main, rig->loop), 0);
}

void
resolver_rig_fini(struct resolver_rig *rig)
{
    loop_stop(rig->loop);
    pthread_join(rig->thread, NULL);
    loop_free(rig->loop);
    fclose(rig->log_file);
}

unsigned
resolver_rig_logged(struct resolver_rig *rig, const char *text)
{
    char line[LOG_LINE_MAX + 1];
    unsigned count = 0;

    rewind(rig->log_file);
    while (fgets(line, sizeof(line), rig->log_file) != NULL)
        count += strstr(line, text) != NULL;
    return count;
}

static void
note_answered(struct resolver_wait *wait)
{
    sem_post(&((struct waiter *)wait)->answered);
}

void
waiter_init(struct waiter *waiter, struct resolver_rig *rig)
{
    waiter->wait = (struct resolver_wait){ .loop = rig->loop, .answered = note_answered };
    sem_init(&waiter->answered, 0, 0);
}

void
waiter_fini(struct waiter *waiter)
{
    sem_destroy(&waiter->answered);
}

bool
waiter_answered(struct waiter *waiter, unsigned ms)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    return sem_timedwait(&waiter->answered, &until) == 0;
}
