/* server/ringnfs_seeing.c - the public interface for looking on: hooks, journal, capture file, questions; see ringnfs.h. */
#include <errno.h>
#include <stdio.h>

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
    struct server *server;
    int err = ringnfs_enter_running(rig, &server, &place->error, &place->error_size);

    if (err == 0)
        place->observer = server_observer(server);
    return err;
}

/* The same, with a text that must be there. */
static int
enter_with(struct ringnfs *rig, struct place *place, const char *text, const char *what)
{
    int err = enter(rig, place);

    if (err < 0 || text != NULL)
        return err;
    snprintf(place->error, place->error_size, "%s is missing (NULL)", what);
    return -EINVAL;
}

int
ringnfs_on_call(struct ringnfs *rig, ringnfs_hook *hook, void *context)
{
    struct ringnfs_seeing *seeing;
    int err = ringnfs_enter_fresh(rig, &seeing);

    if (err < 0)
        return err;
    seeing->hook = hook;
    seeing->hook_context = context;
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
    struct ringnfs_seeing *seeing;
    struct place place;
    int err;

    if (most > RECENT_MOST)
        return ringnfs_refuse(rig, -EINVAL, "%zu calls are too many to be kept: at most %u", most, RECENT_MOST);
    if (ringnfs_runs(rig)) {
        err = enter(rig, &place);
        return err < 0 ? err : observer_keep(place.observer, most, place.error, place.error_size);
    }
    err = ringnfs_enter_fresh(rig, &seeing);
    if (err == 0)
        seeing->keep_calls = most;
    return err;
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
