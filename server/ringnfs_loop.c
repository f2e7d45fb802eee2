/* server/ringnfs_loop.c - an embedded server in the caller's own loop; see ringnfs.h. */
#include <errno.h>

#include "server/ringnfs_private.h"

int
ringnfs_drive(struct ringnfs *rig)
{
    int err = embed_check_fresh(rig);

    if (err == 0)
        rig->driven = true;
    return err;
}

int
embed_prepare_driven(struct ringnfs *rig)
{
    if (rig->settings.sandbox == SETTING_SANDBOX_ON)
        return embed_fail(rig, -EINVAL, "sandbox: on is for threads of the server's own, and it is driven");
    if (rig->settings.engine == SETTING_ENGINE_URING)
        return embed_fail(rig, -EINVAL, "engine: uring is for threads of the server's own, and it is driven");
    rig->settings.sandbox = SETTING_SANDBOX_OFF;
    return 0;
}

static int
check_driven(struct ringnfs *rig)
{
    int err = embed_check_running(rig);

    if (err == 0 && !rig->driven)
        return embed_fail(rig, -EINVAL, "the server has threads of its own: ringnfs_drive() goes before the start");
    return err;
}

int
ringnfs_fd(struct ringnfs *rig)
{
    int err = check_driven(rig);

    return err < 0 ? err : server_fd(rig->server);
}

int
ringnfs_process(struct ringnfs *rig)
{
    int err = check_driven(rig);

    if (err == 0)
        server_turn(rig->server);
    return err;
}
