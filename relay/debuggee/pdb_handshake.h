/* The conversation with Ray's legacy pdb until it is a debug adapter
 * (relay/debuggee/pdb_install.h). The owner holds the connection; the handshake tells it what to do
 * with it. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_DEBUGGEE_PDB_HANDSHAKE_H
#define RAYDBG_RELAY_DEBUGGEE_PDB_HANDSHAKE_H

#include "relay/io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdb_handshake;

struct pdb_handshake_ops {
    /* Connect again. */
    void (*reconnect)(void *arg, const char *host, uint16_t port);
    void (*send)(void *arg, const char *bytes, size_t len);
    /* One of these comes last; it may destroy the handshake. */
    void (*on_adapter)(void *arg); /* from here on the bytes are DAP */
    void (*on_refused)(void *arg, const char *why);
};

/* The owner makes the first connection itself. */
struct pdb_handshake *pdb_handshake_create(struct loop *loop, const char *host, uint16_t port,
                                           const struct pdb_handshake_ops *ops, void *arg);
/* Tells a connected pdb that is not an adapter yet to continue. */
void pdb_handshake_destroy(struct pdb_handshake **handshake);

void pdb_handshake_connected(struct pdb_handshake *handshake);
/* Returns the number of bytes that were not DAP. */
size_t pdb_handshake_read(struct pdb_handshake *handshake, const char *bytes, size_t len);
/* The connection ended or was refused. True if it is tried again: Ray publishes the port before it
 * listens there. */
bool pdb_handshake_closed(struct pdb_handshake *handshake, const char *why);

#endif
