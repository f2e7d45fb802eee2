/*
 * server/throttle.h - calls of clients whose export has max_rate or max_iops: when they may begin.
 *
 * A call over a limit is put aside and begins when it is due (rate.h, delay.h); meanwhile its connection is not read if
 * that is more than a moment, so a client has little more than a moment's worth of calls here. Datagrams share their
 * socket with others and are dropped instead: clients send them again, more slowly each time. While memory is tight,
 * clients over their limits are told to come again.
 */
#ifndef RINGNFS_SERVER_THROTTLE_H
#define RINGNFS_SERVER_THROTTLE_H

#include "server/nfs3_call.h"

#define THROTTLE_HOLD_MS 250            /* a call that is delayed for longer holds its connection */
#define THROTTLE_DATAGRAM_MS 500        /* a datagram that would be delayed for longer is dropped */
#define THROTTLE_DATAGRAMS_MAX 128      /* datagrams of one worker that are delayed at once; others are dropped */

/*
 * Charge a call whose export and caller are known. Returns 0 when it may begin now; -EINPROGRESS when go_on(&call->delay)
 * will be called; -ETIMEDOUT for a datagram that is to be dropped; -EAGAIN when too much is delayed already. On the
 * worker's thread, like all here.
 */
int throttle(struct nfs3_call *call, void (*go_on)(struct delay *delay));

/* A call that moves at most what was charged has moved so many bytes. */
void throttle_settle(struct nfs3_call *call, uint64_t moved);

#endif
