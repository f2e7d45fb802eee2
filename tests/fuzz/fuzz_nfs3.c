/*
 * tests/fuzz/fuzz_nfs3.c - any bytes as the arguments of NFS and NFSACL calls, through the whole dispatch onto a store in
 * memory: no malformed byte lets anyone in (rig.h says how that is seen).
 *
 * An input is a row of calls: what is called and who calls, the length of the arguments (little endian), the arguments.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/rig.h"
#include "xdr/nfs3.h"
#include "xdr/nfs_acl.h"

#define CALLS_MAX 64                    /* of an input */
#define HEAD 3                          /* bytes of a call before its arguments */

const char fuzz_name[] = "nfs3";

/* Low five bits of the first byte: the procedure. Then whether it is a datagram, and who calls. */
enum { PROC_BITS = 0x1f, DATAGRAM = 0x20, AGAIN = 0x40, OTHER_USER = 0x80 };

/* NFSACL's procedures among those of NFS, which ends at 21: 24 is its NULL, 27 the first that it has not. */
enum { ACL_FIRST = 24, ACL_LAST = 27 };

static struct rig_call
call_of(uint32_t number)
{
    if (number >= ACL_FIRST && number <= ACL_LAST)
        return (struct rig_call){ .prog = NFS_ACL_PROGRAM, .vers = NFS_ACL_V3, .proc = number - ACL_FIRST };
    return (struct rig_call){ .prog = NFS_PROGRAM, .vers = NFS_V3, .proc = number };
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t xid = 1;
    size_t len;

    rig_begin();
    for (unsigned n = 0; n < CALLS_MAX && size >= HEAD; n++) {
        struct rig_call call = call_of(data[0] & PROC_BITS);

        len = (size_t)data[1] | (size_t)data[2] << 8;
        len = len < size - HEAD ? len : size - HEAD;
        xid += (data[0] & AGAIN) == 0;                   /* the same xid: the replay cache may have the reply */
        call.xid = xid;
        call.stream = (data[0] & DATAGRAM) == 0;
        call.auth_sys = call.proc % 2 == 0 || (data[0] & OTHER_USER) != 0;
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
