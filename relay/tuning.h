/* The one request that a tunnel adds to what a client and a debugpy say to each other: it makes the
 * worker's answers leave at once (the tune part of relay/inject.h). Pure: bytes in, bytes out.
 *
 * debugpy names itself in an `output` event before anything else. Behind its `initialized` event,
 * and not inside a message of the client's, goes an `evaluate`, under a seq that is above any of
 * the client's; its answer is taken out of what the client gets. Every other byte passes as it
 * came, at once until `initialized`, then a message at a time (a large one in parts) until the
 * answer. */
#ifndef RAYDBG_RELAY_TUNING_H
#define RAYDBG_RELAY_TUNING_H

#include <stdbool.h>
#include <stddef.h>

struct tuning;

struct tuning_ops {
    void (*to_client)(void *arg, const char *bytes, size_t len);
    void (*to_adapter)(void *arg, const char *bytes, size_t len);
};

struct tuning *tuning_create(const struct tuning_ops *ops, void *arg);
void tuning_free(struct tuning **tuning);

/* Passes on what came from either side. False once there is nothing more to do: all has been passed
 * on, free it and go without. That is also so for what is no DAP, or no debugpy. */
bool tuning_from_adapter(struct tuning *tuning, const char *bytes, size_t len);
bool tuning_from_client(struct tuning *tuning, const char *bytes, size_t len);
/* One side has ended: passes on what is held. */
void tuning_end(struct tuning *tuning);

#endif
