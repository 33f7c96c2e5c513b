/* Maps each upstream request to the client's request. The two number spaces have two types, so that
 * mixing them does not compile. */
#ifndef RAYDBG_DAP_SEQMAP_H
#define RAYDBG_DAP_SEQMAP_H

#include "dap/envelope.h"

struct client_seq {
    int64_t value;
};
struct upstream_seq {
    int64_t value;
};

/* One request that waits for its response. The caller sets `owner`, a session, or NULL for the
 * relay's own requests, and may use `tag` as it likes. */
struct pending {
    struct upstream_seq upstream;
    struct client_seq client;
    void *owner;
    void *tag;
    char command[DAP_NAME_MAX];
};

struct seqmap;

/* An empty map has no memory beyond its own struct. */
struct seqmap *seqmap_create(void);
void seqmap_destroy(struct seqmap **map);

/* Starts the upstream seqs at `first` instead of 1. Call before any other function. */
void seqmap_start(struct seqmap *map, int64_t first);
/* Records a request that is about to be sent and gives it the next upstream seq (1, 2, …). */
struct upstream_seq seqmap_add(struct seqmap *map, void *owner, struct client_seq client,
                               const char *command, void *tag);
/* The next upstream seq, for a message that gets no response. */
struct upstream_seq seqmap_next(struct seqmap *map);
/* Removes the request that a response answers; false if there is none (a second response). */
bool seqmap_take(struct seqmap *map, struct upstream_seq upstream, struct pending *out);
/* The same without removing it; NULL if there is none. Valid until the map is changed. */
const struct pending *seqmap_find(const struct seqmap *map, struct upstream_seq upstream);
/* The request that its owner knows by this seq; NULL if it is answered, or none. Valid likewise. */
const struct pending *seqmap_find_client(const struct seqmap *map, const void *owner,
                                         struct client_seq client);
/* Removes the oldest request of `owner`, or of all owners with `any`: for when a link dies. */
bool seqmap_take_oldest(struct seqmap *map, const void *owner, bool any, struct pending *out);
size_t seqmap_count(const struct seqmap *map);

#endif
