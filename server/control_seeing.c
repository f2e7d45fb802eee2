/* server/control_seeing.c - the commands about who looks on: the journal and the capture file. */
#include <errno.h>
#include <string.h>

#include "server/control_commands.h"
#include "server/log.h"
#include "server/observer.h"

#define SHOWN_MAX 64                    /* bytes of a wrong word that are shown */

static int
pack_nothing(json_t **result)
{
    *result = json_object();
    return *result != NULL ? 0 : -ENOMEM;
}

static int
pack_lost(int err, uint64_t lost, json_t **result)
{
    if (err < 0)
        return err;
    *result = json_pack("{s:I}", "lost", (json_int_t)lost);
    return *result != NULL ? 0 : -ENOMEM;
}

int
control_journal_open(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    const char *data = texts[1] != NULL ? texts[1] : "digest";
    bool whole = strcmp(data, "whole") == 0;
    char shown[SHOWN_MAX];
    int err;

    if (!whole && strcmp(data, "digest") != 0) {
        snprintf(error, error_size, "journal open: %s is neither digest nor whole",
                 log_quote(shown, sizeof(shown), data, strlen(data)));
        return -EINVAL;
    }
    err = server_may_change_observer(server, error, error_size);
    if (err == 0)
        err = observer_journal_open(server_observer(server), texts[0], whole, error, error_size);
    return err < 0 ? err : pack_nothing(result);
}

int
control_capture_open(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    int err = server_may_change_observer(server, error, error_size);

    if (err == 0)
        err = observer_capture_open(server_observer(server), texts[0], error, error_size);
    return err < 0 ? err : pack_nothing(result);
}

int
control_journal_close(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    uint64_t lost = 0;
    int err = server_may_change_observer(server, error, error_size);

    (void)texts;
    if (err == 0)
        err = observer_journal_close(server_observer(server), &lost, error, error_size);
    return pack_lost(err, lost, result);
}

int
control_capture_close(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    uint64_t lost = 0;
    int err = server_may_change_observer(server, error, error_size);

    (void)texts;
    if (err == 0)
        err = observer_capture_close(server_observer(server), &lost, error, error_size);
    return pack_lost(err, lost, result);
}
