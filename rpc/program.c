/* rpc/program.c - which program gets a call. */
#include "rpc/program.h"

#include <stdbool.h>

#include "rpc/call.h"

static bool
is_served(const struct program *program, uint32_t version)
{
    for (size_t i = 0; i < program->nversions; i++) {
        if (program->versions[i] == version)
            return true;
    }
    return false;
}

void
program_dispatch(const struct program *const *programs, size_t nprograms, struct call *call)
{
    const struct program *program;

    for (size_t i = 0; i < nprograms; i++) {
        program = programs[i];
        if (program->number != call->prog)
            continue;
        if (is_served(program, call->vers))
            program->dispatch(call);
        else
            call_reply_error(call, CALL_PROG_MISMATCH, program->versions[0], program->versions[program->nversions - 1]);
        return;
    }
    call_reply_error(call, CALL_PROG_UNAVAIL, 0, 0);
}
