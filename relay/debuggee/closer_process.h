/* The closer's process (relay/debuggee/closer.h) and the messages to it; only for
 * relay/debuggee/closer*.c. It makes only plain POSIX calls and allocates nothing. It ends when its
 * work is done, not by SIGTERM. */
#ifndef RAYDBG_RELAY_DEBUGGEE_CLOSER_PROCESS_H
#define RAYDBG_RELAY_DEBUGGEE_CLOSER_PROCESS_H

#include <stdint.h>

enum { CLOSER_SLOTS = 16384 };

/* The state of a slot, in memory that both processes share: one store, never torn. */
enum {
    CLOSER_TORN = 1U << 31,
    CLOSER_IS_PDB = 1 << 30,  /* not an adapter yet */
    CLOSER_GREETED = 1 << 29, /* the adapter's greeting is known to be out */
    CLOSER_OWED = CLOSER_GREETED - 1,
};

enum closer_kind {
    CLOSER_GUARD = 1, /* comes with a descriptor */
    CLOSER_CLOSE,     /* `state` is the final one */
    CLOSER_FORGET,
};

/* One packet on a SOCK_SEQPACKET socket pair. */
struct closer_message {
    uint32_t kind;
    uint32_t slot;
    uint32_t state;
};

/* Forks the process. `socket` is its end of the pair, which the caller closes; `states` has
 * CLOSER_SLOTS entries, in shared memory. Returns 0, or -1 with errno set. */
int closer_process_start(int socket, const volatile uint32_t *states);

#endif
