/* The way into Ray's legacy pdb: one statement that makes a DAP adapter of it (docs/pdb.md), and
 * the marker that says so, in whatever else pdb says. Pure, but for the token. */
#ifndef RAYDBG_RELAY_PDB_INSTALL_H
#define RAYDBG_RELAY_PDB_INSTALL_H

#include "base/buf.h"

#include <stddef.h>

/* The agent's Python source, zlib and base64; made at build time of relay/pdb_agent. */
extern const char pdb_agent[];

/* What pdb may say before the marker comes, in bytes. */
#define PDB_INSTALL_LIMIT ((size_t)1024 * 1024)

enum pdb_install_status {
    PDB_INSTALL_MORE,
    PDB_INSTALL_DONE,   /* DAP follows */
    PDB_INSTALL_FAILED, /* pdb is as it was; pdb_install_problem() */
};

struct pdb_install {
    char token[33];
    struct buf said; /* from where a marker may begin */
    size_t total;
    char problem[256];
};

/* Makes the token, which no program can guess. */
void pdb_install_init(struct pdb_install *install);
void pdb_install_clear(struct pdb_install *install);
/* The line to send as soon as the connection is there; the caller frees. */
char *pdb_install_statement(const struct pdb_install *install);
/* What pdb says; `*used` bytes are not DAP's. */
enum pdb_install_status pdb_install_feed(struct pdb_install *install, const char *bytes, size_t len,
                                         size_t *used);
const char *pdb_install_problem(const struct pdb_install *install);

/* What to say to a pdb that has no agent before its connection is closed: the task goes on, which
 * it would not otherwise. */
#define PDB_INSTALL_GOODBYE "c\n"
/* Goes in front of that where it is not known how much of the statement has left: an error in any
 * part of it, so that no Python (3.13 on) waits for more lines, and harmless behind all of it. */
#define PDB_INSTALL_BREAK "\n]\n"

#endif
