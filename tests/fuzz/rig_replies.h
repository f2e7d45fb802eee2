/* tests/fuzz/rig_replies.h - what is a reply, by rpcgen's codecs; for rig.c. */
#ifndef RINGNFS_TESTS_FUZZ_RIG_REPLIES_H
#define RINGNFS_TESTS_FUZZ_RIG_REPLIES_H

#include <stddef.h>
#include <stdint.h>

struct rig_call;

/*
 * Read a reply to its last byte. Returns NULL, or what is wrong with it. found(context, bytes, len) is called for each
 * handle in it.
 */
const char *rig_check_reply(const struct rig_call *call, const uint8_t *reply, size_t len,
                            void (*found)(void *context, const uint8_t *bytes, size_t len), void *context);

#endif
