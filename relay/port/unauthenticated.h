/* Counts the unauthenticated connections of each address. */
#ifndef RAYDBG_RELAY_PORT_UNAUTHENTICATED_H
#define RAYDBG_RELAY_PORT_UNAUTHENTICATED_H

#include "base/hash_index.h"

#define UNAUTHENTICATED_ADDRESS_SIZE 16

/* All zero is empty. */
struct unauthenticated {
    struct hash_index counts;
};

/* `address`: an IPv6 address, or an IPv4 one mapped into it; all zero for unix sockets. Returns the
 * count including this one. */
size_t unauthenticated_add(struct unauthenticated *unauthenticated,
                           const uint8_t address[UNAUTHENTICATED_ADDRESS_SIZE]);
/* Undoes one unauthenticated_add(). Nothing is left allocated once all are undone. */
void unauthenticated_drop(struct unauthenticated *unauthenticated,
                          const uint8_t address[UNAUTHENTICATED_ADDRESS_SIZE]);

#endif
