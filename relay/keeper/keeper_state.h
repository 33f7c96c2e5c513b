/* The relay's end of a keeper, private to keeper.c (slots, kept connections, start and end) and
 * keeper_hello.c (the connection to the keeper's process). */
#ifndef RAYDBG_RELAY_KEEPER_KEEPER_STATE_H
#define RAYDBG_RELAY_KEEPER_KEEPER_STATE_H

#include "relay/keeper/keeper.h"
#include "relay/keeper/keeper_wire.h"

struct keeper {
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
    int64_t not_before_us; /* an answer was late: no request is sent before this time */
};

/* keeper_hello.c */
/* Finds or starts the process at `path` and sends KEEPER_HELLO (`upgrade`: see keeper_start());
 * sets `socket`, `version`, `pid` and `memory`. Tries again if the keeper is just ending, or serves
 * a relay that is just dying. Returns 0, or -1 with `err` set. */
int keeper_get_in(struct keeper *keeper, bool upgrade, struct err *err);
/* False if no request may be sent now. */
bool keeper_is_ready(const struct keeper *keeper);
/* Sends a message, with the next tag and the keeper's version. False if it could not be sent: the
 * keeper may have been lost. */
bool keeper_say(struct keeper *keeper, struct keeper_message *message, const int *fds,
                size_t fd_count);
/* Waits for the answer to the request that keeper_say() has sent; the answer replaces it in
 * *message. `fds` as for keeper_receive(). Drops answers to earlier requests that have timed
 * out. */
bool keeper_ask(struct keeper *keeper, struct keeper_message *message, int *fds, size_t *fd_count);
/* Closes the socket after the process has gone. */
void keeper_lose(struct keeper *keeper);

#endif
