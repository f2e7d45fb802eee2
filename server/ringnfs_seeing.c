/* server/ringnfs_seeing.c - the public interface for looking on: hooks, journal, capture file, questions; see ringnfs.h. */
#include <errno.h>

#include "server/observer.h"
#include "server/recent.h"
#include "server/ringnfs_private.h"

/* The observer of a server that runs, and where an error goes. */
struct place {
    struct observer *observer;
    char *error;
    size_t error_size;
};

static int
enter(struct ringnfs *rig, struct place *place)
{
    int err = embed_check_running(rig);

    if (err < 0)
        return err;
    *place = (struct place){ server_observer(rig->server), rig->error, sizeof(rig->error) };
    return 0;
}

/* The same, with a text that must be there. */
static int
enter_with(struct ringnfs *rig, struct place *place, const char *text, const char *what)
{
    int err = enter(rig, place);

    return err < 0 ? err : embed_check_text(rig, text, what);
}

int
ringnfs_on_call(struct ringnfs *rig, ringnfs_hook *hook, void *context)
{
    int err = embed_check_fresh(rig);

    if (err < 0)
        return err;
    rig->seeing.hook = hook;
    rig->seeing.hook_context = context;
    return 0;
}

int
ringnfs_journal_open(struct ringnfs *rig, const char *file, int whole_data)
{
    struct place place;
    int err = enter_with(rig, &place, file, "the file");

    return err < 0 ? err : observer_journal_open(place.observer, file, whole_data != 0, place.error, place.error_size);
}

int
ringnfs_capture_open(struct ringnfs *rig, const char *file)
{
    struct place place;
    int err = enter_with(rig, &place, file, "the file");

    return err < 0 ? err : observer_capture_open(place.observer, file, place.error, place.error_size);
}

int
ringnfs_journal_close(struct ringnfs *rig)
{
    struct place place;
    uint64_t lost;
    int err = enter(rig, &place);

    return err < 0 ? err : observer_journal_close(place.observer, &lost, place.error, place.error_size);
}

int
ringnfs_capture_close(struct ringnfs *rig)
{
    struct place place;
    uint64_t lost;
    int err = enter(rig, &place);

    return err < 0 ? err : observer_capture_close(place.observer, &lost, place.error, place.error_size);
}

int
ringnfs_keep_calls(struct ringnfs *rig, size_t most)
{
    int err = embed_check_unstopped(rig);

    if (err < 0)
        return err;
    if (most > RECENT_MOST)
        return embed_fail(rig, -EINVAL, "%zu calls are too many to be kept: at most %u", most, RECENT_MOST);
    if (rig->server != NULL)
        return observer_keep(server_observer(rig->server), most, rig->error, sizeof(rig->error));
    rig->seeing.keep_calls = most;
    return 0;
}

int
ringnfs_forget_calls(struct ringnfs *rig)
{
    struct place place;
    int err = enter(rig, &place);

    if (err == 0)
        observer_forget(place.observer);
    return err;
}

int
ringnfs_count_calls(struct ringnfs *rig, const char *description)
{
    struct place place;
    int err = enter_with(rig, &place, description, "the description");

    return err < 0 ? err : observer_count(place.observer, description, place.error, place.error_size);
}

int
ringnfs_expect(struct ringnfs *rig, const char *expectation)
{
    struct place place;
    int err = enter_with(rig, &place, expectation, "the expectation");

    return err < 0 ? err : observer_expect(place.observer, expectation, place.error, place.error_size);
}
