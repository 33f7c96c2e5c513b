/* The protocol between a relay and the keeper: one small message per packet on a SOCK_SEQPACKET
 * unix socket, with descriptors. The relay sends requests, the keeper answers. For
 * relay/keeper/keeper*.c only. */
#ifndef RAYDBG_RELAY_KEEPER_KEEPER_WIRE_H
#define RAYDBG_RELAY_KEEPER_KEEPER_WIRE_H

#include "relay/io/fd_packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KEEPER_MAGIC = 0x4B444152, /* "RADK" */
    /* The version of everything except a message's first five fields, KEEPER_HELLO and
     * KEEPER_VERSIONS: these never change, so that a relay and a keeper of different versions
     * understand them. Also the version of the layouts of relay/keeper/keeper_snapshots.h and
     * relay/hub/hub_log.h. */
    KEEPER_PROTOCOL = 2,
    /* The oldest version that a relay speaks with an older keeper: a relay can read what an older
     * relay has left, but not the other way round. */
    KEEPER_PROTOCOL_OLDEST = 1,
    KEEPER_BATCH = FD_PACKET_FDS, /* descriptors in one message */
    KEEPER_WAIT_MS = 10000,       /* for a replaced relay to leave */
};

enum keeper_kind {
    KEEPER_HELLO = 1, /* relay: `flag`: replace the served relay; `ms`: orphan_ms */
    KEEPER_VERSIONS,  /* no, versions differ; `version`, `pid`, `count` are the keeper's */
    KEEPER_REFUSED,   /* no, the relay `pid` is served, or another one waits for it to leave */
    KEEPER_WAIT,      /* the relay `pid` must leave first; KEEPER_WELCOME or nothing follows */
    KEEPER_WELCOME,   /* `pid` of the keeper, `count` held; the snapshots' memfd comes along */
    KEEPER_PUT,       /* relay: keep the descriptor that comes along under `slot` */
    KEEPER_DONE,      /* the descriptor is kept */
    KEEPER_FULL,      /* not kept: no descriptor is left */
    KEEPER_DROP,      /* relay: close the descriptor under `slot`; no answer */
    KEEPER_TAKE,      /* relay: give the held descriptors from `slot` on */
    KEEPER_GIVEN,     /* `count` slots, with as many descriptors; the next TAKE starts at `slot` */
    KEEPER_LEAVE,     /* relay: ends in order */
    KEEPER_LEFT,      /* `count` held */
};

/* On the wire, a KEEPER_GIVEN has only its first `count` slots, and other kinds have none. */
struct keeper_message {
    uint32_t magic;
    uint32_t version;
    uint32_t kind;
    int32_t pid;
    uint32_t count;
    uint32_t tag; /* an answer has its request's */
    uint32_t slot;
    uint32_t flag;
    int64_t ms;
    uint32_t slots[KEEPER_BATCH];
};

enum keeper_got { KEEPER_GOT, KEEPER_NOTHING_YET, KEEPER_GONE };

/* Fills in magic, and version if that is 0. False with errno set if it could not be sent. */
bool keeper_send(int socket, struct keeper_message *message, const int *fds, size_t fd_count,
                 bool block);
/* `fds` has room for KEEPER_BATCH; the received descriptors are the caller's (close-on-exec).
 * Returns KEEPER_GONE also for a packet that is not a message of this protocol, or is of a version
 * that is not spoken and neither KEEPER_HELLO nor KEEPER_VERSIONS. A blocking receive returns
 * KEEPER_NOTHING_YET when its time limit is over. */
enum keeper_got keeper_receive(int socket, struct keeper_message *message, int *fds,
                               size_t *fd_count, bool block);

#endif
