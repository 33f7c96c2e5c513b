/* The inside of the hub table, for its files: hub_table.c (life of the hubs, lists),
 * hub_table_keeper.c (what outlives the relay) and hub_table_accept.c (processes that have dialled
 * the relay). */
#ifndef RAYDBG_RELAY_HUB_HUB_TABLE_STATE_H
#define RAYDBG_RELAY_HUB_HUB_TABLE_STATE_H

#include "base/hash_index.h"
#include "base/invariant.h"
#include "relay/hub/failures.h"
#include "relay/hub/hub_table.h"
#include "relay/keeper/keeper_watch.h"

struct entry {
    struct entry *next;
    struct hub_table *hubs;
    struct hub *hub;
    uint64_t endpoint_hash;
    int64_t look_us;    /* its network cannot go silent before this time */
    bool warned;        /* the clients were warned that --max-hold is near */
    bool noted;         /* its loss to a cut network is in `failures` */
    bool by_itself;     /* opened by the relay, without a client */
    bool stood;         /* a thread has stopped there */
    int64_t running_us; /* when it began to run without a client; 0: it does not */
    int64_t paused;     /* the number of its pause in `history`; 0: it is not paused */
};

struct hub_table {
    uint32_t magic;
    struct hub_table_options options;
    const struct hub_table_ops *ops;
    void *arg;
    struct entry *first;
    struct hash_index endpoint_index; /* of the entries */
    struct failures failures;
    struct pause_history history;
    struct timer *tick;
    struct timer *sweep;
    struct keeper_watch *keeper_watch; /* NULL: no keeper */
};
INVARIANT_MAGIC(hub_table, 0x013bff81)
#define hub_table_checked(object) hub_table_checked_at(INVARIANT_HERE, object)

/* hub_table.c */
extern const struct hub_ops hub_table_hub_ops;      /* with the entry */
extern const char hub_table_initialize_arguments[]; /* the relay's own */
/* The arguments of its attach, with further members. */
#define HUB_TABLE_ATTACH_ARGUMENTS(more)                                                           \
    "{\"justMyCode\":false,\"steppingResumesAllThreads\":false,\"stopAllThreadsOnSuspend\":false," \
    "\"showReturnValue\":true" more "}"
struct entry *hub_table_add_entry(struct hub_table *hubs);
/* Notes the endpoint of the entry's hub. */
void hub_table_set_endpoint(struct entry *entry);
/* The live entry of this pause's worker, or NULL. */
struct entry *hub_table_entry(const struct hub_table *hubs, const struct pause *pause);
struct hub_options hub_table_options_for(const struct hub_table *hubs);
struct entry *hub_table_open_hub(struct hub_table *hubs, const struct pause *pause,
                                 const struct target_options *target, const char *by);
/* Steps through the live hubs: start with NULL. */
struct hub *hub_table_next(const struct hub_table *hubs, const struct hub *after);

/* hub_table_accept.c */
bool hub_table_is_accepted(const struct hub *hub);

/* hub_table_keeper.c */
extern const struct keeper_watch_ops hub_table_keeper_ops; /* with the table */

#endif
