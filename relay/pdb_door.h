/* The first talk with Ray's legacy pdb, until it is a debug adapter (relay/pdb_install.h). The
 * owner has the connection; the door says what to do with it. Everything runs on the loop's thread.
 */
#ifndef RAYDBG_RELAY_PDB_DOOR_H
#define RAYDBG_RELAY_PDB_DOOR_H

#include "relay/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdb_door;

struct pdb_door_ops {
    /* Connect again. */
    void (*reconnect)(void *arg, const char *host, uint16_t port);
    void (*send)(void *arg, const char *bytes, size_t len);
    /* One of these comes last: the door may be destroyed. */
    void (*on_adapter)(void *arg); /* what comes from here on is DAP */
    void (*on_refused)(void *arg, const char *why);
};

/* The owner connects to it. */
struct pdb_door *pdb_door_create(struct loop *loop, const char *host, uint16_t port,
                                 const struct pdb_door_ops *ops, void *arg);
/* Lets a pdb go that is connected and no adapter yet. */
void pdb_door_destroy(struct pdb_door **door);

void pdb_door_connected(struct pdb_door *door);
/* The number of bytes that were not DAP. */
size_t pdb_door_read(struct pdb_door *door, const char *bytes, size_t len);
/* The connection ended or was refused. True if it is tried again: Ray tells the port before it
 * listens there. */
bool pdb_door_closed(struct pdb_door *door, const char *why);

#endif
