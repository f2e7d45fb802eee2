/*
 * server/capture.h - calls as packets in a pcapng file, which tshark and wireshark open: a format of recorder.h.
 *
 * The packets are made up, the messages in them are the calls' own: as the client sent the arguments, or would have sent
 * them if Kerberos had not signed or encrypted them. Credentials of Kerberos become AUTH_SYS, with the user that the
 * ticket stands for and the flavour as the name of the machine. Each call is followed by its reply, in the order of the
 * replies.
 */
#ifndef RINGNFS_SERVER_CAPTURE_H
#define RINGNFS_SERVER_CAPTURE_H

#include "server/recorder.h"

extern const struct recorder_format capture_format;

/* Its context. NULL when memory is short. */
void *capture_new(void);

#endif
