#include "relay/pdb_door.h"

#include "base/mem.h"
#include "relay/pdb_install.h"

#include <stdlib.h>
#include <string.h>

enum { INSTALL_MS = 10000, REFUSED_MS = 2000, AGAIN_MS = 50 };

struct pdb_door {
    struct loop *loop;
    const struct pdb_door_ops *ops;
    void *arg;
    struct pdb_install install;
    char *host;
    uint16_t port;
    int64_t until_us; /* how long a refused connection is tried again */
    struct timer *timer;
    bool open; /* a pdb is connected that is no adapter */
};

static void connect_again(void *arg)
{
    struct pdb_door *door = arg;
    door->timer = NULL;
    door->ops->reconnect(door->arg, door->host, door->port);
}

struct pdb_door *pdb_door_create(struct loop *loop, const char *host, uint16_t port,
                                 const struct pdb_door_ops *ops, void *arg)
{
    struct pdb_door *door = mem_alloc(sizeof *door);
    *door = (struct pdb_door){.loop = loop,
                              .ops = ops,
                              .arg = arg,
                              .host = mem_string(host),
                              .port = port,
                              .until_us = loop_now_us() + (int64_t)REFUSED_MS * 1000};
    pdb_install_init(&door->install);
    return door;
}

static void say_goodbye(struct pdb_door *door)
{
    if (door->open)
        door->ops->send(door->arg, PDB_INSTALL_GOODBYE, strlen(PDB_INSTALL_GOODBYE));
    door->open = false;
}

void pdb_door_destroy(struct pdb_door **door)
{
    struct pdb_door *it = *door;
    if (!it)
        return;
    *door = NULL;
    say_goodbye(it);
    timer_cancel(&it->timer);
    pdb_install_clear(&it->install);
    free(it->host);
    free(it);
}

static void refuse(struct pdb_door *door, const char *problem)
{
    char *why =
        mem_format("Ray's pdb did not become a debug adapter: %s; the task goes on", problem);
    say_goodbye(door);
    door->ops->on_refused(door->arg, why);
    free(why);
}

static void on_timeout(void *arg)
{
    struct pdb_door *door = arg;
    door->timer = NULL;
    refuse(door, "no answer");
}

void pdb_door_connected(struct pdb_door *door)
{
    char *statement = pdb_install_statement(&door->install);
    door->open = true;
    door->timer = timer_start(door->loop, INSTALL_MS, on_timeout, door);
    door->ops->send(door->arg, statement, strlen(statement));
    free(statement);
}

size_t pdb_door_read(struct pdb_door *door, const char *bytes, size_t len)
{
    size_t used;
    switch (pdb_install_feed(&door->install, bytes, len, &used)) {
    case PDB_INSTALL_MORE:
        break;
    case PDB_INSTALL_DONE:
        timer_cancel(&door->timer);
        door->open = false;
        door->ops->on_adapter(door->arg);
        break;
    case PDB_INSTALL_FAILED:
        timer_cancel(&door->timer);
        refuse(door, pdb_install_problem(&door->install));
        break;
    }
    return used;
}

bool pdb_door_closed(struct pdb_door *door, const char *why)
{
    bool refused = !door->open && why && strstr(why, "refused");
    door->open = false;
    if (!refused || loop_now_us() > door->until_us)
        return false;
    door->timer = timer_start(door->loop, AGAIN_MS, connect_again, door);
    return true;
}
