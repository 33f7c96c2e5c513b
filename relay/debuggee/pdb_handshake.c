#include "relay/debuggee/pdb_handshake.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "relay/debuggee/pdb_install.h"

#include <stdlib.h>
#include <string.h>

/* INSTALL_MS: a pdb that has not become an adapter by then is told to continue. */
enum { INSTALL_MS = 30000, REFUSED_MS = 2000, AGAIN_MS = 50 };

struct pdb_handshake {
    uint32_t magic;
    struct loop *loop;
    const struct pdb_handshake_ops *ops;
    void *arg;
    struct pdb_install install;
    char *host;
    uint16_t port;
    int64_t until_us; /* until when a refused connection is tried again */
    struct timer *timer;
    bool open; /* connected to a pdb that is not an adapter yet */
};
INVARIANT_MAGIC(pdb_handshake, 0x9115dfe4)
#define pdb_handshake_checked(object) pdb_handshake_checked_at(INVARIANT_HERE, object)

static void connect_again(void *arg)
{
    struct pdb_handshake *handshake = pdb_handshake_checked(arg);
    handshake->timer = NULL;
    handshake->ops->reconnect(handshake->arg, handshake->host, handshake->port);
}

struct pdb_handshake *pdb_handshake_create(struct loop *loop, const char *host, uint16_t port,
                                           const struct pdb_handshake_ops *ops, void *arg)
{
    struct pdb_handshake *handshake = mem_alloc(sizeof *handshake);
    *handshake = (struct pdb_handshake){.loop = loop,
                                        .ops = ops,
                                        .arg = arg,
                                        .host = mem_string(host),
                                        .port = port,
                                        .until_us = loop_now_us() + (int64_t)REFUSED_MS * 1000};
    pdb_handshake_set_magic(handshake);
    pdb_install_init(&handshake->install);
    return handshake;
}

static void say_goodbye(struct pdb_handshake *handshake)
{
    if (handshake->open)
        handshake->ops->send(handshake->arg, PDB_INSTALL_GOODBYE, strlen(PDB_INSTALL_GOODBYE));
    handshake->open = false;
}

void pdb_handshake_destroy(struct pdb_handshake **handshake)
{
    struct pdb_handshake *it = *handshake;
    if (!it)
        return;
    *handshake = NULL;
    say_goodbye(it);
    timer_cancel(&it->timer);
    pdb_install_clear(&it->install);
    free(it->host);
    pdb_handshake_clear_magic(it);
    free(it);
}

static void refuse(struct pdb_handshake *handshake, const char *problem)
{
    char *why =
        mem_format("Ray's pdb did not become a debug adapter: %s; the task goes on", problem);
    say_goodbye(handshake);
    handshake->ops->on_refused(handshake->arg, why);
    free(why);
}

static void on_timeout(void *arg)
{
    struct pdb_handshake *handshake = pdb_handshake_checked(arg);
    handshake->timer = NULL;
    refuse(handshake, "no answer");
}

void pdb_handshake_connected(struct pdb_handshake *handshake)
{
    char *statement = pdb_install_statement(&handshake->install);
    handshake->open = true;
    handshake->timer = timer_start(handshake->loop, INSTALL_MS, on_timeout, handshake);
    handshake->ops->send(handshake->arg, statement, strlen(statement));
    free(statement);
}

size_t pdb_handshake_read(struct pdb_handshake *handshake, const char *bytes, size_t len)
{
    size_t used;
    switch (pdb_install_feed(&handshake->install, bytes, len, &used)) {
    case PDB_INSTALL_MORE:
        break;
    case PDB_INSTALL_DONE:
        timer_cancel(&handshake->timer);
        handshake->open = false;
        handshake->ops->on_adapter(handshake->arg);
        break;
    case PDB_INSTALL_FAILED:
        timer_cancel(&handshake->timer);
        refuse(handshake, pdb_install_problem(&handshake->install));
        break;
    }
    return used;
}

bool pdb_handshake_closed(struct pdb_handshake *handshake, const char *why)
{
    bool refused = !handshake->open && why && strstr(why, "refused");
    handshake->open = false;
    if (!refused || loop_now_us() > handshake->until_us)
        return false;
    handshake->timer = timer_start(handshake->loop, AGAIN_MS, connect_again, handshake);
    return true;
}
