/* The one request that a tunnel adds to the messages between a client and a debugpy: it makes the
 * worker's answers leave at once (the tune part of relay/inject/inject.h). Pure: bytes in, bytes
 * out.
 *
 * debugpy names itself in an `output` event before anything else. Behind its `initialized` event,
 * and not inside a message of the client's, goes an `evaluate`, under a seq above any of the
 * client's; its answer is taken out of the bytes that the client gets. Every other byte passes as
 * it came: at once until `initialized`, then a message at a time (a large one in parts) until the
 * answer. */
#ifndef RAYDBG_RELAY_SERVER_TUNNEL_TUNING_H
#define RAYDBG_RELAY_SERVER_TUNNEL_TUNING_H

#include <stdbool.h>
#include <stddef.h>

struct tunnel_tuning;

struct tunnel_tuning_ops {
    void (*to_client)(void *arg, const char *bytes, size_t len);
    void (*to_adapter)(void *arg, const char *bytes, size_t len);
};

struct tunnel_tuning *tunnel_tuning_create(const struct tunnel_tuning_ops *ops, void *arg);
void tunnel_tuning_free(struct tunnel_tuning **tuning);

/* Passes on the bytes that came from either side. False once there is nothing more to do:
 * everything has been passed on; free it and pass bytes directly. False, too, for bytes that are
 * not DAP and for adapters other than debugpy. */
bool tunnel_tuning_from_adapter(struct tunnel_tuning *tuning, const char *bytes, size_t len);
bool tunnel_tuning_from_client(struct tunnel_tuning *tuning, const char *bytes, size_t len);
/* One side has ended: passes on the bytes that are held. */
void tunnel_tuning_end(struct tunnel_tuning *tuning);

#endif
