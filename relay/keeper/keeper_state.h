/* The relay's end of a keeper, private to keeper.c (slots, kept connections, start and end) and
 * keeper_hello.c (the connection to the keeper's process). */
#ifndef RAYDBG_RELAY_KEEPER_KEEPER_STATE_H
#define RAYDBG_RELAY_KEEPER_KEEPER_STATE_H

#include "base/invariant.h"
#include "relay/keeper/keeper.h"
#include "relay/keeper/keeper_wire.h"

enum {
    KEEPER_CALL_MS = 1000, /* how long the relay's loop waits for the keeper */
    /* How long a relay that is starting does: the keeper may have just been started, too. */
    KEEPER_HELLO_MS = 10000,
};

struct keeper {
    uint32_t magic;
    char *path;
    int64_t orphan_ms;
    int socket;       /* -1: the keeper is dead */
    uint32_t version; /* of the protocol that the keeper speaks */
    int pid;
    int memory;
    struct keeper_snapshots *snapshots;
    struct slot *slots;
    uint32_t count;
    size_t dropping; /* slots in SLOT_DROPPING */
    uint32_t tag;
    uint32_t awaited; /* the tag of the last KEEPER_PUT whose answer is late; 0: none */
    bool jammed;      /* the socket took no more: the keeper does not read */
    bool missed;      /* a connection is not kept that may be when it is put again */
};
INVARIANT_MAGIC(keeper, 0x83d5c01e)
#define keeper_checked(object) keeper_checked_at(INVARIANT_HERE, object)

/* keeper_hello.c */
/* Finds or starts the process at `path` and sends KEEPER_HELLO (`upgrade`: see keeper_start());
 * sets `socket`, `version`, `pid` and `memory`. Tries again if the keeper is just ending, or serves
 * a relay that is just dying. Returns 0, or -1 with `err` set. */
int keeper_get_in(struct keeper *keeper, bool upgrade, struct err *err);
/* Sends a message, with the next tag and the keeper's version. False if it could not be sent: the
 * keeper may have been lost. Waits KEEPER_CALL_MS for room in the socket, unless the keeper is
 * known to be slow (`awaited`, `jammed`). */
bool keeper_say(struct keeper *keeper, struct keeper_message *message, const int *fds,
                size_t fd_count);
/* Waits `ms` for the answer to the request that keeper_say() has sent; the answer replaces it in
 * *message. `fds` as for keeper_receive(). Drops answers to earlier requests that were late. False
 * if none came: then the keeper was lost (`socket` is -1), or the answer comes later. */
bool keeper_ask(struct keeper *keeper, struct keeper_message *message, int *fds, size_t *fd_count,
                int64_t ms);
/* Closes the socket after the process has gone. */
void keeper_lose(struct keeper *keeper);

#endif
