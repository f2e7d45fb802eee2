/* server/nfsacl.h - the rows of the NFSACL procedures, version 3. */
#ifndef RINGNFS_SERVER_NFSACL_H
#define RINGNFS_SERVER_NFSACL_H

#include "server/nfs3_call.h"

#define NFSACL_PROCS 3                  /* NULL to SETACL */

/* The row of a procedure; NULL when there is none of that number. */
const struct nfs3_proc *nfsacl_proc(uint32_t number);

/* NFSACL version 3, for the workers' transports. */
extern const struct program nfsacl_program;

#endif
