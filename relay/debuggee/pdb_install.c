#include "relay/debuggee/pdb_install.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { START = 2, END = 3, TOKEN_BYTES = 16 };

void pdb_install_init(struct pdb_install *install)
{
    unsigned char bytes[TOKEN_BYTES];
    *install = (struct pdb_install){0};
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) /* never fails for less than 256 bytes */
        abort();
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(install->token + 2 * i, 3, "%02x", bytes[i]);
}

void pdb_install_clear(struct pdb_install *install)
{
    buf_free(&install->said);
}

/* pdb cuts a line at `;;` and replaces `$name`: base64 has neither. The module's name begins with
 * "ray.", because other threads' pdbs step past Ray's own frames. */
char *pdb_install_statement(const struct pdb_install *install)
{
    return mem_format("!exec(compile(__import__(\"zlib\").decompress(__import__(\"base64\")."
                      "b64decode(\"%s\")),\"<raydbg agent>\",\"exec\"),"
                      "{\"__name__\":\"ray.raydbg_agent\",\"TOKEN\":\"%s\"})\n",
                      pdb_agent, install->token);
}

/* Drops received bytes that cannot begin a marker. */
static void trim(struct pdb_install *install)
{
    const char *start =
        install->said.len ? memchr(install->said.data, START, install->said.len) : NULL;
    buf_consume(&install->said, start ? (size_t)(start - install->said.data) : install->said.len);
}

static bool is_marker(const struct pdb_install *install)
{
    size_t token_len = strlen(install->token);
    size_t compared = install->said.len - 1 < token_len ? install->said.len - 1 : token_len;
    return memcmp(install->said.data + 1, install->token, compared) == 0;
}

/* `said` begins like a marker, and only its last byte is new. */
static enum pdb_install_status look(struct pdb_install *install)
{
    size_t head = 1 + strlen(install->token);
    const char *data = install->said.data;
    size_t len = install->said.len;
    if (len <= head || (data[head] != END && data[len - 1] != END))
        return PDB_INSTALL_MORE;
    if (data[head] == END)
        return PDB_INSTALL_DONE;
    snprintf(install->problem, sizeof install->problem, "%.*s", (int)(len - head - 2),
             data + head + 1);
    return PDB_INSTALL_FAILED;
}

enum pdb_install_status pdb_install_feed(struct pdb_install *install, const char *bytes, size_t len,
                                         size_t *used)
{
    for (*used = 0; *used < len;) {
        buf_add(&install->said, bytes + (*used)++, 1);
        trim(install);
        while (install->said.len && !is_marker(install)) {
            buf_consume(&install->said, 1);
            trim(install);
        }
        enum pdb_install_status status = install->said.len ? look(install) : PDB_INSTALL_MORE;
        if (status != PDB_INSTALL_MORE)
            return status;
        if (++install->total > PDB_INSTALL_LIMIT) {
            snprintf(install->problem, sizeof install->problem, "it says too much");
            return PDB_INSTALL_FAILED;
        }
    }
    return PDB_INSTALL_MORE;
}

const char *pdb_install_problem(const struct pdb_install *install)
{
    return install->problem;
}
