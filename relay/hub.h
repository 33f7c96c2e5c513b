/* One debuggee and the clients that share it: one drives, the others observe. It outlives its
 * clients if it holds: a client may leave, and the task stays stopped where it was.
 * Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_HUB_H
#define RAYDBG_RELAY_HUB_H

#include "relay/breakpoints.h"
#include "relay/hub_snapshot.h"
#include "relay/keeper.h"
#include "relay/objects.h"
#include "relay/pause.h"
#include "relay/stops.h"
#include "relay/target.h"

struct hub;

enum hub_hold {
    HUB_NEVER,     /* the task goes on when the last client leaves, as with debugpy itself */
    HUB_ON_ATTACH, /* it is held from the first client's attach on */
    HUB_ON_PAUSE,  /* it is attached to and held with no client at all */
};

/* All borrowed for hub_open() only, but for the cluster, which must outlive the hub. */
struct hub_options {
    struct target_options target;
    const struct pause *pause;
    enum hub_hold hold;
    bool shared; /* a relay's: clients are told their role, and where it stands is looked up */
    struct keeper *keeper; /* has a hand on the connection once the task runs or stands; or NULL */
    struct cluster *cluster; /* who knows of the worker's objects; NULL: nobody is asked */
};

/* What the owner, the relay, is told. All may be NULL. */
struct hub_ops {
    /* State, location, clients or role: list it anew. */
    void (*on_change)(void *arg, struct hub *hub);
    /* It is over: no client is left, nothing is held. Destroy it, but not from within. */
    void (*on_over)(void *arg, struct hub *hub);
};

/* --- a client's place --- */

struct member;

struct member_ops {
    /* The debuggee is attached, `initialized` may be sent. */
    void (*on_ready)(void *arg, const char *capabilities, size_t len);
    /* Attaching failed; the place is empty again. */
    void (*on_failed)(void *arg, const struct err *err);
    void (*on_event)(void *arg, const char *json, size_t len, const struct envelope *envelope);
    void (*on_response)(void *arg, const struct pending *pending, const char *json, size_t len,
                        const struct envelope *envelope);
    /* A message in parts; see relay/link.h. */
    bool (*large_begin)(void *arg, const struct pending *pending, const char *head, size_t head_len,
                        size_t total, const struct envelope *envelope);
    void (*large_part)(void *arg, const char *bytes, size_t len);
    void (*large_end)(void *arg, bool whole);
    /* The debuggee does not read: ask it nothing until `flows` again. */
    void (*on_flow)(void *arg, bool flows);
    /* The relay's own words, for an `output` event. */
    void (*on_note)(void *arg, const char *category, const char *text);
    /* It drives or observes from now on; `driver` is who drives, "" if nobody does. */
    void (*on_role)(void *arg, bool drives, const char *driver);
    /* Another member asks what may change something in the debuggee (dap/reads.h). Nothing may be
     * sent to the debuggee from within. Or NULL. */
    void (*on_disturbed)(void *arg);
    /* The debuggee is gone for this client, unasked; hub_take_pending() has what is unanswered.
     * `why` is a sentence, or NULL if the cluster should be asked. */
    void (*on_lost)(void *arg, const char *why);
    /* The debuggee cannot be reached for now: hub_take_pending() has what will not be answered. */
    void (*on_silent)(void *arg, const char *why);
    /* The goodbye of hub_leave() is complete; the place is empty. */
    void (*on_left)(void *arg);
};

/* A place in a hub, embedded in its owner. All zero is an empty place. */
struct member {
    struct hub *hub; /* NULL: empty */
    struct member *next;
    const struct member_ops *ops;
    void *arg;
    char *name; /* "nvim @ 127.0.0.1:50212" */
    bool may_drive, wants_to_drive;
    bool configured; /* configurationDone was answered: it gets the stops that are true */
    bool filters_set;
    bool leaving;
    bool sparing, looked; /* see member_wish and hub_look(); since the last stop */
    int64_t told_role;    /* the hub's count of drivers when it was last told */
    struct trim *trims;   /* set requests whose answer has others' breakpoints in it */
    int64_t joined_ms;    /* epoch */
};

struct member_wish {
    const char *name;
    bool may_drive; /* an observer's token may not */
    bool observe;   /* it only wants to look */
    bool take_over; /* it drives, whoever did before */
    bool sparing;   /* its client has many tasks and looks at few: Ray is asked of hub_objects()
                       only after hub_look() */
};

enum hub_leave {
    HUB_LEAVE,          /* hold, if the hub holds */
    HUB_LEAVE_CONTINUE, /* the task shall go on */
    HUB_LEAVE_KILL,     /* the worker shall end */
};

/* --- */

struct hub *hub_open(const struct hub_options *options, const struct hub_ops *ops, void *arg);
/* Goes on with what an earlier relay has left in the keeper's hands. `fd` and `kept` are the hub's
 * from here on; `options` has no pause and no target but for loop and tune. */
struct hub *hub_adopt(const struct hub_options *options, struct kept *kept, int fd,
                      struct hub_snapshot *snapshot, const struct hub_ops *ops, void *arg);
/* Members are told nothing: their places are empty. Closes the connection: debugpy resumes all,
 * unless it is in a keeper's hands. */
void hub_destroy(struct hub **hub);

/* on_ready follows, from within if the hub is attached already. */
void hub_join(struct hub *hub, struct member *member, const struct member_ops *ops, void *arg,
              const struct member_wish *wish);
/* on_left follows, perhaps from within. */
void hub_leave(struct member *member, enum hub_leave how);
/* The same without a goodbye and without callbacks, held if the hub holds; for a client that is
 * destroyed. */
void hub_abandon(struct member *member);

/* Whether the member's requests may go to the debuggee. */
bool hub_is_attached(const struct member *member);
/* Whether `configurationDone` is due, and what it does: the task is let go to its next stop, or the
 * member is told the stops that are. */
bool hub_wants_configuration(const struct member *member);
void hub_configure(struct member *member);

/* Why the debuggee must not get this request of the member's (static text), or NULL. */
const char *hub_refusal(const struct member *member, const char *json,
                        const struct envelope *envelope);
void hub_forward(struct member *member, struct client_seq client, const char *json, size_t len,
                 const struct envelope *envelope);
/* Whether a set request of the member's is only remembered until it drives: an observer's. */
bool hub_keeps_set(struct member *member, const char *json, const struct envelope *envelope);
/* A request of the member's owner's own, whose answer its client does not see; see link_ask(). fn
 * does not run any more after hub_drop_asks(), or when the place is empty. */
void hub_ask(struct member *member, const char *command, const char *arguments, int64_t timeout_ms,
             link_answer_fn fn, void *arg);
void hub_drop_asks(const struct member *member);
bool hub_has_stopped(const struct member *member);
/* The latest stop that still holds (borrowed until anything happens), or NULL. */
const struct stop *hub_last_stop(const struct member *member);
/* What to send to another debuggee for it to have the breakpoints of the member. */
void hub_each_set(struct member *member, breakpoints_fn fn, void *arg);
/* The debuggee gets this set request of the member's, and nobody its answer. */
void hub_set_quietly(struct member *member, const char *json, const struct envelope *envelope);
bool hub_take_pending(struct member *member, struct pending *out);

bool hub_drives(const struct member *member);
/* NULL, or why not. */
const char *hub_take_over(struct member *member);
/* What the worker's references are, for its clients; asked when a thread stops while a client is
 * there that is not sparing, forgotten when one goes on. NULL if nobody can be asked. It lives as
 * long as the hub. */
struct objects *hub_objects(struct hub *hub);
/* The member's client looks at where the worker stands: it is asked now, unless it was for this
 * stop, and right away at the next one, which may end a step of whoever looks. */
void hub_look(struct member *member);
/* A client reads too slowly (or again): the debuggee is not read meanwhile. */
void hub_read_enable(struct hub *hub, bool enable);

/* --- for the owner --- */

/* No new client may join: it failed, is lost, or is saying goodbye. */
bool hub_is_over(const struct hub *hub);
/* Nothing is to be waited for any more: it may be destroyed. */
bool hub_is_finished(const struct hub *hub);
/* It was lost while its machine could not be reached. */
bool hub_was_cut(const struct hub *hub);
/* It is held from now on, whatever the policy says, until hub_release(). */
void hub_keep(struct hub *hub);
bool hub_is_held(const struct hub *hub); /* attached, and somebody or something is to keep it so */
const struct pause *hub_pause(const struct hub *hub); /* with its place, once that is known */
const char *hub_reason(const struct hub *hub);        /* of the last stop; "" while it runs */
size_t hub_members(const struct hub *hub);
const char *hub_driver(const struct hub *hub);    /* "" if nobody drives */
int64_t hub_held_since_ms(const struct hub *hub); /* epoch; 0 if it is not held */
int64_t hub_idle_ms(const struct hub *hub);       /* since a client asked anything */
void *hub_arg(const struct hub *hub);             /* what hub_open() was given for its hub_ops */
/* Why it could not attach, while hub_is_over(), or NULL. */
const struct err *hub_problem(const struct hub *hub);
/* Lets every thread run and stays attached. NULL, or why not. */
const char *hub_continue(struct hub *hub, const char *who);
/* Lets every thread run, and says goodbye to the debuggee; members are told. on_over follows. */
void hub_release(struct hub *hub, const char *who);
/* An `output` event to all. */
void hub_tell(struct hub *hub, const char *category, const char *text);
/* Looks whether the debuggee can still be reached; members are told when it cannot, and when it can
 * again. Call it every second or so. */
void hub_look_network(struct hub *hub);
/* The cluster's newest word on the pause: names come late. */
void hub_update_pause(struct hub *hub, const struct pause *pause);

#endif
