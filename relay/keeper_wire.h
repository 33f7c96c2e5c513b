/* What a relay and the keeper say to each other: one small message a packet on a SOCK_SEQPACKET
 * unix socket, with descriptors. The relay asks, the keeper answers; for relay/keeper*.c alone. */
#ifndef RAYDBG_RELAY_KEEPER_WIRE_H
#define RAYDBG_RELAY_KEEPER_WIRE_H

#include "relay/packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KEEPER_MAGIC = 0x4B444152, /* "RADK" */
    /* Of everything but the first five fields of a message, KEEPER_HELLO and KEEPER_VERSIONS, which
     * stay as they are for good, so that two of different versions understand that much. Also of
     * what relay/snapshots.h lays out. */
    KEEPER_PROTOCOL = 1,
    KEEPER_BATCH = PACKET_FDS, /* descriptors in one message */
    KEEPER_WAIT_MS = 10000,    /* for a relay to go that another one replaces */
};

enum keeper_kind {
    KEEPER_HELLO = 1, /* relay: `flag`: wait for the one there is; `ms`: how long to be orphaned */
    KEEPER_VERSIONS,  /* no, we do not speak the same; `version`, `pid`, `count` are the keeper's */
    KEEPER_REFUSED,   /* no, `pid` is being served, or waited for */
    KEEPER_WAIT,      /* the relay `pid` has to go first; KEEPER_WELCOME or nothing follows */
    KEEPER_WELCOME,   /* `pid` of the keeper, `count` held; the snapshots' memfd comes along */
    KEEPER_PUT,       /* relay: keep the descriptor that comes along under `slot` */
    KEEPER_DONE,      /* it is kept */
    KEEPER_FULL,      /* it is not: no descriptor left */
    KEEPER_DROP,      /* relay: close what is under `slot`; no answer */
    KEEPER_TAKE,      /* relay: what is there from `slot` on? */
    KEEPER_GIVEN,     /* `count` slots, with as many descriptors; the next TAKE starts at `slot` */
    KEEPER_LEAVE,     /* relay: that was all */
    KEEPER_LEFT,      /* `count` held */
};

/* On the wire without the slots behind `count` of a KEEPER_GIVEN, and without any in others. */
struct keeper_message {
    uint32_t magic;
    uint32_t version;
    uint32_t kind;
    int32_t pid;
    uint32_t count;
    uint32_t tag; /* an answer has its question's */
    uint32_t slot;
    uint32_t flag;
    int64_t ms;
    uint32_t slots[KEEPER_BATCH];
};

enum keeper_got { KEEPER_GOT, KEEPER_NOTHING_YET, KEEPER_GONE };

/* Fills in magic and version. False with errno set if it could not be sent. */
bool keeper_send(int socket, struct keeper_message *message, const int *fds, size_t fd_count,
                 bool block);
/* `fds` has room for KEEPER_BATCH; those that came are the caller's (close-on-exec). What is no
 * message of this protocol, or of another version and no KEEPER_HELLO or KEEPER_VERSIONS, is
 * KEEPER_GONE. A blocking receive gives KEEPER_NOTHING_YET when its time limit is over. */
enum keeper_got keeper_receive(int socket, struct keeper_message *message, int *fds,
                               size_t *fd_count, bool block);

/* Raises the soft limit of open files to the hard one, for this process and those it forks. */
void keeper_raise_fd_limit(void);

#endif
