/* How many connections of each address are not authenticated yet. */
#ifndef RAYDBG_RELAY_STRANGERS_H
#define RAYDBG_RELAY_STRANGERS_H

#include <stddef.h>
#include <stdint.h>

#define STRANGERS_ADDRESS_SIZE 16

enum { STRANGERS_BUCKETS = 256 };

/* All zero is empty. */
struct strangers {
    struct stranger_count *buckets[STRANGERS_BUCKETS];
};

/* `address`: an IPv6 address, or an IPv4 one mapped into it; all zero for unix sockets. Gives the
 * count with this one. */
size_t strangers_add(struct strangers *strangers, const uint8_t address[STRANGERS_ADDRESS_SIZE]);
/* Undoes one strangers_add(). Nothing is left allocated once all are undone. */
void strangers_drop(struct strangers *strangers, const uint8_t address[STRANGERS_ADDRESS_SIZE]);

#endif
