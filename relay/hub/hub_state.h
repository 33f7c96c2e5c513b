/* A hub's internals, shared by hub.c (life and members), hub_debuggee.c (messages from the target),
 * hub_request.c (requests that are not answered), hub_save.c (the keeper's snapshot),
 * hub_steer.c (actions of the relay), hub_objects.c (Ray's objects), hub_task.c (what a
 * process runs). */
#ifndef RAYDBG_RELAY_HUB_HUB_STATE_H
#define RAYDBG_RELAY_HUB_HUB_STATE_H

#include "base/err.h"
#include "base/invariant.h"
#include "relay/hub/hit_ids.h"
#include "relay/hub/hub.h"

/* A client's set request that is not answered. */
struct trim {
    struct trim *next;
    int64_t client_seq;
    size_t own; /* elements of the client's own: the answer has only these; or SIZE_MAX */
    struct hit_set *hits;
};

/* The states of a hub; hub_move() has the allowed transitions. */
enum hub_state {
    HUB_OPENING,   /* its target attaches */
    HUB_READY,     /* attached; capabilities are known */
    HUB_RELEASING, /* the task is being let go */
    HUB_RELEASED,  /* the task went on, on request */
    HUB_LOST,      /* the debuggee is gone without a request, or was never attached */
};

/* Says of a worker that runs no task if it still runs code of the user's. */
enum hub_idle {
    HUB_BUSY,     /* it runs a task, is stopped, or has no task that could end */
    HUB_UNJUDGED, /* it runs none, and has not said more yet */
    HUB_OUTLIVED, /* a thread of the user's has outlived its call */
    HUB_IDLE,
};

struct hub {
    uint32_t magic;
    enum hub_state state;
    struct loop *loop;
    struct target *target;
    const struct hub_ops *ops;
    void *arg;
    struct pause pause;
    enum hub_hold hold;
    bool shared;
    bool stays;
    bool stalled;        /* the debuggee does not read, so its clients are not read, either */
    bool silent;         /* nothing comes back from the debuggee's machine */
    bool cut;            /* so says another connection: hub_note_cut() */
    bool kills;          /* it is left by ending the worker */
    struct err *problem; /* the error of a failed attach, or NULL */
    const char *attach;  /* the debugger's attach arguments, interned; "" if they are not known */
    char *attached_by;   /* whose they are; NULL: the relay's, or it is not known */
    const char *capabilities; /* interned */
    size_t capabilities_len;
    struct member *members; /* in the order they came */
    struct member *driver;
    int64_t driver_count;             /* how often the driver has changed */
    struct hub_request *own_requests; /* of members' owners and the relay, unanswered */
    struct hub_resume *resumes;       /* requests that resume threads, unanswered */
    struct stop_events stops;
    struct breakpoint_union *sets;
    struct hit_ids hits;
    struct timer *locate;
    int64_t ask_ms;                 /* for an answer to what lists show of this stop */
    size_t asked;                   /* so many of these questions are open */
    struct timer *orphans;          /* gives up what members have left unanswered */
    struct cluster *cluster;        /* or NULL */
    struct worker_objects *objects; /* made when they are first wanted */
    char reason[64];
    int64_t held_since_ms;
    int64_t touched_us;
    enum hub_idle idle;
    bool idle_asked;
    int64_t idle_us; /* when it was judged, or began */
    struct keeper *keeper;
    struct kept *kept;
    struct timer *unsent; /* checks if a partly sent message has been sent whole */
    struct buf requests;  /* hub_log_request()'s records of requests that may be sent in part */
    bool roomy;           /* the keeper's snapshot has room for additions */
    bool rewrite;         /* something must be removed from it: write it whole */
    int64_t generation;
    struct member *large; /* the one that gets the message that arrives in parts */
};
INVARIANT_MAGIC(hub, 0xefe4f714)
#define hub_checked(object) hub_checked_at(INVARIANT_HERE, object)

struct hub_event {
    const char *json;
    size_t len;
    const struct envelope *envelope;
};

/* hub.c */
void hub_move_at(struct invariant_location location, struct hub *hub, enum hub_state next);
#define hub_move(hub, next) hub_move_at(INVARIANT_HERE, hub, next)
/* True in HUB_RELEASED and HUB_LOST: nothing more comes from the debuggee. */
bool hub_has_ended(const struct hub *hub);
struct hub *hub_create(const struct hub_options *options, const struct hub_ops *ops, void *arg);
void hub_changed(struct hub *hub);
void hub_over_if_empty(struct hub *hub);
/* Calls `fn` for each member; the list may change meanwhile. */
void hub_each_member(struct hub *hub, void (*fn)(struct member *member, const void *with),
                     const void *with);
void hub_clear_member(struct member *member);
void hub_send_set(void *arg, const char *command,
                  const char *arguments); /* a breakpoint_union_fn */
void hub_set_driver(struct hub *hub, struct member *member);
size_t hub_stopped_threads(const struct hub *hub);
/* Lets the debuggee run to its stop, with the exception filters that any member has set. */
void hub_run(struct hub *hub);
/* The same if there is no member to configure it. */
void hub_run_alone(struct hub *hub);

/* hub_request.c */
void hub_free_requests(struct hub *hub);
/* Sends a `continue` of the relay's own; see link_ask(). */
void hub_ask_continue(struct hub *hub, int64_t timeout_ms, link_answer_fn fn, void *arg);
/* A request is about to be sent that resumes this thread, or all: their stops are over, and all
 * members except the sender are sent `continued`. The sender (NULL: the relay) and its seq name the
 * request. */
void hub_resume(struct hub *hub, const struct member *sender, int64_t seq, int64_t thread,
                bool all);
/* A request was answered. If it was to resume threads and the debuggee has refused that, they are
 * stopped as before, and the members that were sent `continued` are sent their stops again. */
void hub_resume_answered(struct hub *hub, const struct member *sender, int64_t seq, bool success);
/* An event of the debuggee's: what it says of threads is newer than such a refusal. */
void hub_resume_event(struct hub *hub, const char *json, size_t len, const struct envelope *event);
void hub_forget_resumes(const struct member *sender);
/* To be called when a member has left: its unanswered requests are given up after a second, but not
 * while the debuggee works for another member. */
void hub_note_orphans(struct hub *hub);
/* Gives them up now: a member joins. */
void hub_drop_orphans(struct hub *hub);

/* hub_debuggee.c */
extern const struct target_ops hub_target_ops;
void hub_lose(struct hub *hub, const char *why);
void hub_welcome(struct member *member, const void *with); /* the hub */
/* Passes a debuggee's event to a member, with the breakpoints' ids that this member knows. */
void hub_tell_event(struct member *member, const char *json, size_t len,
                    const struct envelope *event);
void hub_pass_event(struct member *member, const void *with); /* a hub_event */
/* Reads the debuggee, or does not: to be called when the driver or the state has changed. */
void hub_choose_reading(struct hub *hub);
/* To be called after a message to the debuggee: stops the members if too much waits for it. */
void hub_watch_flow(struct hub *hub);
bool hub_is_replayed(const char *event); /* a late client gets these from hub_tell_stops() */
/* Renews the location and reason that lists show, after threads stopped or went on. */
void hub_note_location(struct hub *hub);
/* Asks for what lists show of the stop; `fn` is as of link_ask(), and calls hub_note_asked(). */
void hub_ask_shown(struct hub *hub, const char *command, const char *arguments, link_answer_fn fn);
/* Such a question was answered; or it was not in time: all is asked again while the stop lasts, for
 * longer each time. */
void hub_note_asked(struct hub *hub, bool answered);

/* hub_objects.c */
/* Asks for the objects, if a thread is stopped and a client looks, unless they were asked for. */
void hub_ask_objects(struct hub *hub);
/* A thread has stopped or gone on: drops what is known of the objects, and asks again. */
void hub_renew_objects(struct hub *hub);

/* hub_task.c */
/* Asks which task runs on the thread of this `stackTrace` response, if the process has dialled the
 * relay. */
void hub_ask_task(struct hub *hub, const char *json, const struct envelope *stack);

/* Notes what the cluster says: the worker runs no task. Asks the worker if need be. */
void hub_note_idle(struct hub *hub, bool idle);

/* hub_save.c */
/* Gives the keeper the connection and a snapshot, so that they outlive a crash of this process. A
 * debuggee that still waits for configurationDone is not saved: it goes on waiting. */
void hub_save(struct hub *hub);
/* The same if only breakpoints have been set: adds just these. */
void hub_save_sets(struct hub *hub);
/* A target's on_write. */
void hub_save_request(void *arg, int64_t at, const char *head, size_t head_len, const char *json,
                      size_t len);
/* A target's on_unread. */
void hub_save_unread(void *arg);
void hub_stop_saving(struct hub *hub);

#endif
