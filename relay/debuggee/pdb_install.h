/* Turns Ray's legacy pdb into a DAP adapter: makes the one statement that does it (docs/pdb.md),
 * and finds the marker that confirms it among pdb's other output. Pure, except for the random
 * token. */
#ifndef RAYDBG_RELAY_DEBUGGEE_PDB_INSTALL_H
#define RAYDBG_RELAY_DEBUGGEE_PDB_INSTALL_H

#include "base/buf.h"

#include <stddef.h>

/* The agent's Python source, compressed with zlib, in base64; made from relay/debuggee/pdb_agent at
 * build time. */
extern const char pdb_agent[];

/* How many bytes pdb may send before the marker. */
#define PDB_INSTALL_LIMIT ((size_t)1024 * 1024)

enum pdb_install_status {
    PDB_INSTALL_MORE,
    PDB_INSTALL_DONE,   /* DAP follows */
    PDB_INSTALL_FAILED, /* pdb is unchanged; see pdb_install_problem() */
};

struct pdb_install {
    char token[33];
    struct buf said; /* received bytes, from where a marker may begin */
    size_t total;
    char problem[256];
};

/* Makes the token, which no program can guess. */
void pdb_install_init(struct pdb_install *install);
void pdb_install_clear(struct pdb_install *install);
/* The line to send once the connection is open; the caller frees. */
char *pdb_install_statement(const struct pdb_install *install);
/* Reads pdb's output; `*used` bytes are not DAP's. */
enum pdb_install_status pdb_install_feed(struct pdb_install *install, const char *bytes, size_t len,
                                         size_t *used);
const char *pdb_install_problem(const struct pdb_install *install);

/* Sent to a pdb without an agent before its connection is closed, so that the task goes on; without
 * it the task fails. */
#define PDB_INSTALL_GOODBYE "c\n"
/* Sent before that if it is not known how much of the statement has left. It is an error after any
 * part of the statement, so that no Python (3.13 on) waits for more lines, and harmless after all
 * of it. */
#define PDB_INSTALL_BREAK "\n]\n"

#endif
