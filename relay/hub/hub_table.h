/* The debuggees that a relay is attached to, a hub for each. Everything runs on the loop's
 * thread. */
#ifndef RAYDBG_RELAY_HUB_HUB_TABLE_H
#define RAYDBG_RELAY_HUB_HUB_TABLE_H

#include "relay/hub/hub.h"
#include "relay/pause/pause_history.h"

struct hub_table;

struct hub_table_options {
    struct loop *loop;
    enum hub_hold hold;
    bool tune;
    int64_t max_hold_ms;     /* 0: no limit */
    struct keeper *keeper;   /* or NULL */
    struct cluster *cluster; /* borrowed; or NULL */
    const char *name;        /* "relay 127.0.0.1:4713", for messages; borrowed */
};

struct hub_table_ops {
    /* hub_ops' on_ready, for a debuggee that has dialled the relay (hub_table_accept()); and its
     * hub is about to be destroyed, or has changed. May be NULL. */
    void (*on_ready)(void *arg, struct hub *hub);
    void (*on_end)(void *arg, const struct hub *hub);
    void (*on_own_set)(void *arg, struct hub *hub, const char *json,
                       const struct envelope *response); /* hub_ops' */
    void (*on_hub_change)(void *arg, struct hub *hub);
    void (*on_released)(void *arg, struct hub *hub, const char *problem); /* hub_ops' */
    /* A pause has changed: list it again. */
    void (*on_change)(void *arg);
    /* The relay acts by itself, for the audit log: "release" with the detail "max-hold". */
    void (*on_act)(void *arg, const char *action, const struct pause *pause, const char *detail);
};

struct hub_table *hub_table_create(const struct hub_table_options *options,
                                   const struct hub_table_ops *ops, void *arg);
/* Closes every link: debugpy resumes each task whose connection no keeper has. */
void hub_table_destroy(struct hub_table **hubs);

/* For hubs that are opened from here on. */
void hub_table_set_cluster(struct hub_table *hubs, struct cluster *cluster);
struct cluster *hub_table_cluster(const struct hub_table *hubs); /* or NULL */

const char *hub_table_name(const struct hub_table *hubs);
enum hub_hold hub_table_hold(const struct hub_table *hubs);

/* Takes over the debuggees that an earlier relay has left in the keeper; returns their number. */
size_t hub_table_take_over(struct hub_table *hubs);

/* The live hub of this pause's worker, or NULL. */
struct hub *hub_table_find(const struct hub_table *hubs, const struct pause *pause);
/* The same where its task is being let go: hub_is_releasing(). */
struct hub *hub_table_find_releasing(const struct hub_table *hubs, const struct pause *pause);
/* The live hub; opens one if there is none. `initialize`, `attach` and the flags of `target` are
 * for the debuggee then; loop, host and port are filled in. `by` names the client. */
struct hub *hub_table_get(struct hub_table *hubs, const struct pause *pause,
                          const struct target_options *target, const char *by);
/* The same with the relay's own arguments, to hold a pause without a client. */
struct hub *hub_table_hold_pause(struct hub_table *hubs, const struct pause *pause);

/* Opens a hub for a pydevd that has dialled the relay on `fd`, which the hub owns from here on. The
 * process runs on when the relay has configured it. `pause` has PAUSE_PYDEVD. */
struct hub *hub_table_accept(struct hub_table *hubs, const struct pause *pause, int fd);
/* hub_note_cut() for one of them. A process that has ended loses both its connections: the clients
 * are told of a cut only if the hub is still there after a moment. */
void hub_table_note_cut(struct hub_table *hubs, struct hub *hub, bool cut);
/* Calls `fn` for each live hub of hub_table_accept(). */
void hub_table_each_accepted(const struct hub_table *hubs, void (*fn)(void *arg, struct hub *hub),
                             void *arg);

/* True if a debuggee was lost to a cut network: the relay attaches when it waits again. */
bool hub_table_wants_any(const struct hub_table *hubs);

/* The reason (borrowed) that the relay's own attach failed lately, or NULL. */
const char *hub_table_failure(const struct hub_table *hubs, const struct pause *pause);

size_t hub_table_count(const struct hub_table *hubs);
/* Sends the clients of all hubs an `output` event. */
void hub_table_tell(const struct hub_table *hubs, const char *category, const char *text);

/* The cluster's pauses with what the hubs know of them: state held, location, clients; and the
 * pauses of hubs that the cluster does not list. `out` is the caller's to clear. */
void hub_table_list(const struct hub_table *hubs, const struct pause_list *cluster,
                    struct pause_list *out);
/* When the debuggees were paused, since the table was created. */
const struct pause_history *hub_table_history(const struct hub_table *hubs);
/* Updates the held pauses, and opens a hub for each waiting pause with HUB_ON_PAUSE, or that was
 * lost to a cut network. */
void hub_table_update(struct hub_table *hubs, const struct pause_list *cluster);

#endif
