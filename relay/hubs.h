/* The debuggees that a relay is attached to, one hub for each. Everything runs on the loop's
 * thread.
 */
#ifndef RAYDBG_RELAY_HUBS_H
#define RAYDBG_RELAY_HUBS_H

#include "relay/hub.h"

struct hubs;

struct hubs_options {
    struct loop *loop;
    enum hub_hold hold;
    bool tune;
    int64_t max_hold_ms;     /* 0: no limit */
    struct keeper *keeper;   /* or NULL */
    struct cluster *cluster; /* borrowed; or NULL */
    const char *name;        /* "relay 127.0.0.1:4713", for messages; borrowed */
};

struct hubs_ops {
    /* Something about a pause is to be listed anew. */
    void (*on_change)(void *arg);
    /* An act of the relay's own: "max-hold"; for the audit log. */
    void (*on_act)(void *arg, const char *action, const struct pause *pause, const char *detail);
};

struct hubs *hubs_create(const struct hubs_options *options, const struct hubs_ops *ops, void *arg);
/* Closes every link: debugpy resumes what is not in a keeper's hands. */
void hubs_destroy(struct hubs **hubs);

const char *hubs_name(const struct hubs *hubs);
enum hub_hold hubs_hold(const struct hubs *hubs);

/* Takes over what an earlier relay has left in the keeper's hands; the number of debuggees. */
size_t hubs_take_over(struct hubs *hubs);

/* The live hub of this pause's worker, or NULL. */
struct hub *hubs_find(const struct hubs *hubs, const struct pause *pause);
/* The same; opens one if there is none. `initialize`, `attach` and the flags of `target` are for
 * the debuggee if it is the first; loop, host and port are filled in. */
struct hub *hubs_get(struct hubs *hubs, const struct pause *pause,
                     const struct target_options *target);
/* The same with arguments of the relay's own, for who has no client. */
struct hub *hubs_hold_pause(struct hubs *hubs, const struct pause *pause);

/* Whether a debuggee was lost to a cut network: it is attached again when it waits again. */
bool hubs_wants_any(const struct hubs *hubs);

/* Why attaching to it of the relay's own accord failed lately (borrowed), or NULL. */
const char *hubs_failure(const struct hubs *hubs, const struct pause *pause);

size_t hubs_count(const struct hubs *hubs);

/* The cluster's pauses with what the hubs know of them: state held, location, clients; and those of
 * hubs that the cluster does not list (any more). `out` is the caller's to clear. */
void hubs_list(const struct hubs *hubs, const struct pause_list *cluster, struct pause_list *out);
/* New facts on the pauses that are held, and with HUB_ON_PAUSE a hub for each that waits. */
void hubs_update(struct hubs *hubs, const struct pause_list *cluster);

#endif
