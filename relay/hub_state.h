/* A hub's inside, for the files that make it up: hub.c (life and members), hub_debuggee.c (what
 * comes from the target), hub_ask.c (what sessions ask by themselves), hub_save.c (the keeper's
 * snapshot), hub_steer.c (what the relay does), hub_objects.c (Ray's objects). */
#ifndef RAYDBG_RELAY_HUB_STATE_H
#define RAYDBG_RELAY_HUB_STATE_H

#include "base/err.h"
#include "relay/hub.h"

struct trim {
    struct trim *next;
    int64_t client_seq;
    size_t own;
};

struct hub {
    struct loop *loop;
    struct target *target;
    const struct hub_ops *ops;
    void *arg;
    struct pause pause;
    enum hub_hold hold;
    bool shared;
    bool ready; /* attached; capabilities are known */
    bool releasing;
    bool over;
    bool stalled;             /* the debuggee does not read: its clients are not read either */
    bool silent;              /* nothing comes back from the debuggee's machine */
    struct err *problem;      /* why it could not attach, or NULL */
    const char *capabilities; /* interned */
    size_t capabilities_len;
    struct member *members; /* in the order they came */
    struct member *driver;
    int64_t driver_count; /* how often it has changed */
    struct hub_ask *asks; /* of members' owners, unanswered */
    struct stops stops;
    struct breakpoints *sets;
    struct timer *locate;
    struct cluster *cluster; /* or NULL */
    struct objects *objects; /* made when they are first wanted */
    char reason[64];
    int64_t held_since_ms;
    int64_t touched_us;
    struct keeper *keeper;
    struct kept *kept;
    struct timer *unsent; /* looks whether a message that left in part has left whole */
    int64_t generation;
    struct member *large; /* who gets the message that arrives in parts */
};

struct hub_event {
    const char *json;
    size_t len;
    const struct envelope *envelope;
};

/* hub.c */
int64_t hub_now_ms(void); /* epoch */
struct hub *hub_create(const struct hub_options *options, const struct hub_ops *ops, void *arg);
void hub_changed(struct hub *hub);
void hub_over_if_empty(struct hub *hub);
/* Tells each member; the list may change meanwhile. */
void hub_each_member(struct hub *hub, void (*fn)(struct member *member, const void *with),
                     const void *with);
void hub_empty_place(struct member *member);
void hub_send_set(void *arg, const char *command, const char *arguments); /* a breakpoints_fn */
void hub_set_driver(struct hub *hub, struct member *member);
/* Tells the member the threads and stops that are. */
void hub_replay(struct hub *hub, struct member *member);
/* With nobody to configure it, the debuggee is let go to its stop. */
void hub_run_alone(struct hub *hub);

/* hub_ask.c */
void hub_free_asks(struct hub *hub);

/* hub_debuggee.c */
extern const struct target_ops hub_target_ops;
void hub_lose(struct hub *hub, const char *why);
void hub_welcome(struct member *member, const void *with);    /* the hub */
void hub_pass_event(struct member *member, const void *with); /* a hub_event */
/* After something was sent to the debuggee. */
void hub_watch_flow(struct hub *hub);
bool hub_is_replayed(const char *event); /* those that a late client is told later */
bool hub_is_step(const char *command);
/* The others learn from an event what the one who asked knows from its answer. */
void hub_tell_continued(struct hub *hub, const struct member *but, int64_t thread, bool all);
/* What lists show of where it stands, after its threads stopped or went on. */
void hub_note_place(struct hub *hub);

/* hub_objects.c */
/* A client is there: asks, unless it is asked. */
void hub_ask_objects(struct hub *hub);
/* A thread has stopped, or has gone on. */
void hub_renew_objects(struct hub *hub);

/* hub_save.c */
/* Puts the connection, and what is known, where a crash of this process does not reach. A debuggee
 * that still waits for configurationDone needs no keeping: it goes on waiting. */
void hub_save(struct hub *hub);
void hub_stop_saving(struct hub *hub);

#endif
