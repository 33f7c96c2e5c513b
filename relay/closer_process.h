/* The closer itself (relay/closer.h), and what is said to it; for relay/closer*.c alone. It makes
 * only plain POSIX calls and allocates nothing; SIGTERM does not end it, its work does. */
#ifndef RAYDBG_RELAY_CLOSER_PROCESS_H
#define RAYDBG_RELAY_CLOSER_PROCESS_H

#include <stdint.h>

enum { CLOSER_PLACES = 16384 };

/* What is known of a place, in memory that both processes see: one store, never torn. */
enum {
    CLOSER_TORN = 1U << 31,
    CLOSER_IS_PDB = 1 << 30, /* no adapter yet */
    CLOSER_OWED = CLOSER_IS_PDB - 1,
};

enum closer_kind {
    CLOSER_GUARD = 1, /* a descriptor comes along */
    CLOSER_CLOSE,     /* `state` is the last */
    CLOSER_FORGET,
};

/* One packet on a SOCK_SEQPACKET socket pair. */
struct closer_message {
    uint32_t kind;
    uint32_t place;
    uint32_t state;
};

/* Forks it off. `socket` is its end of the pair, which the caller closes; `states` has
 * CLOSER_PLACES, in shared memory. 0, or -1 with errno set. */
int closer_process_start(int socket, const volatile uint32_t *states);

#endif
