/*
 * tests/fuzz/fuzz_mount.c - any bytes as the arguments of MOUNT calls of both versions: nobody gets a handle of what is not
 * for him, and the list stays what it is (rig.h says how that is seen).
 *
 * An input is a row of calls: what is called, the length of the arguments, the arguments.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/rig.h"
#include "xdr/mount3.h"

#define CALLS_MAX 64                    /* of an input */
#define HEAD 3                          /* bytes of a call before its arguments */

const char fuzz_name[] = "mount";

enum { PROC_BITS = 0x0f, DATAGRAM = 0x20, VERSION_1 = 0x40, OTHER_USER = 0x80 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t xid = 1;
    size_t len;

    rig_begin();
    for (unsigned n = 0; n < CALLS_MAX && size >= HEAD; n++) {
        struct rig_call call = { .prog = MOUNT_PROGRAM, .proc = data[0] & PROC_BITS, .xid = xid++ };

        len = (size_t)data[1] | (size_t)data[2] << 8;
        len = len < size - HEAD ? len : size - HEAD;
        call.vers = (data[0] & VERSION_1) != 0 ? MOUNT_V1 : MOUNT_V3;
        call.stream = (data[0] & DATAGRAM) == 0;
        call.auth_sys = true;
        call.uid = call.gid = (data[0] & OTHER_USER) != 0 ? 1000 : 0;
        call.args = data + HEAD;
        call.len = len;
        rig_call(&call);
        data += HEAD + len;
        size -= HEAD + len;
    }
    rig_end();
    return 0;
}
