/* server/sysctls.h - where the kernel's own bounds are below what is set. */
#ifndef RINGNFS_SERVER_SYSCTLS_H
#define RINGNFS_SERVER_SYSCTLS_H

#include "server/log.h"
#include "server/settings.h"

/*
 * A warning that names the sysctl, for each setting that the kernel does not take as it is: socket_buffer, udp_buffer and
 * backlog. key: of this setting alone; NULL: of all. A thread that may open files and sockets.
 */
void sysctls_warn(const struct settings *settings, const char *key, const struct log *log);

#endif
