/* rpc/program.h - the RPC programs that are served, and the refusals for those that are not. */
#ifndef RINGNFS_RPC_PROGRAM_H
#define RINGNFS_RPC_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

struct call;

struct program {
    uint32_t number;
    const uint32_t *versions;           /* those that are served, ascending */
    size_t nversions;
    void (*dispatch)(struct call *call);        /* owns the call; answers PROC_UNAVAIL itself */
};

/*
 * Give a call to its program, or refuse it: PROG_UNAVAIL, PROG_MISMATCH with the lowest and the highest version
 * (RFC 5531 section 9).
 */
void program_dispatch(const struct program *const *programs, size_t nprograms, struct call *call);

#endif
