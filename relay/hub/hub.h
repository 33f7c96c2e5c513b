/* One debuggee and the clients that share it: one drives, the others observe. It outlives its
 * clients if it holds: a client may leave, and the task stays stopped where it was.
 * Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_HUB_HUB_H
#define RAYDBG_RELAY_HUB_HUB_H

#include "relay/debuggee/target.h"
#include "relay/hub/breakpoint_union.h"
#include "relay/hub/hub_log.h"
#include "relay/keeper/keeper.h"
#include "relay/objects/worker_objects.h"
#include "relay/pause/pause.h"
#include "relay/stack/stop_events.h"

struct hub;

enum hub_hold {
    HUB_NEVER,     /* the task goes on when the last client leaves, as with debugpy itself */
    HUB_ON_ATTACH, /* the task is held from the first client's attach on */
    HUB_ON_PAUSE,  /* the relay attaches by itself, and holds the task without any client */
    /* Like HUB_ON_ATTACH, but the task goes on when the last client disconnects, and is not held
     * while it runs: only clients that are lost, or ask for it, leave it stopped. */
    HUB_ON_LOSS,
};

/* All borrowed for hub_open() only, except loop, keeper and cluster, which must outlive the hub. */
struct hub_options {
    struct target_options target;
    const struct pause *pause;
    enum hub_hold hold;
    /* A relay's hub: clients learn their role, and the location of a stop is looked up. */
    bool shared;
    struct keeper *keeper; /* gets a duplicate of the connection after configurationDone; or NULL */
    struct cluster *cluster; /* gives the facts about the worker's objects; NULL: there are none */
    /* The owner decides when the debuggee is disconnected: if the last client lets the task go on,
     * the hub continues it and stays. For a debuggee with breakpoints of the relay's own. */
    bool stays;
    const char *by; /* the client that attaches first; NULL: the relay itself */
};

/* Callbacks to the owner, the relay. All may be NULL. */
struct hub_ops {
    /* The debuggee is attached and has not run yet: hub_set_own() sets breakpoints in time. Also
     * after hub_adopt(), where it runs already. */
    void (*on_ready)(void *arg, struct hub *hub);
    /* The debuggee's response to the setBreakpoints of hub_set_own(). */
    void (*on_own_set)(void *arg, struct hub *hub, const char *json,
                       const struct envelope *response);
    /* A task was let go and goes on (`problem` NULL), or the reason why that is not known. */
    void (*on_released)(void *arg, struct hub *hub, const char *problem);
    /* State, location, clients or driver have changed: list the hub again. */
    void (*on_change)(void *arg, struct hub *hub);
    /* The hub has ended: no client is left, nothing is held. Destroy it, but not from within. */
    void (*on_over)(void *arg, struct hub *hub);
};

/* --- a client in a hub --- */

struct member;

struct member_ops {
    /* The debuggee is attached, `initialized` may be sent. */
    void (*on_ready)(void *arg, const char *capabilities, size_t len);
    /* Attaching failed; the member has left. */
    void (*on_failed)(void *arg, const struct err *err);
    void (*on_event)(void *arg, const char *json, size_t len, const struct envelope *envelope);
    void (*on_response)(void *arg, const struct pending *pending, const char *json, size_t len,
                        const struct envelope *envelope);
    /* A message in parts; see relay/debuggee/link.h. */
    bool (*large_begin)(void *arg, const struct pending *pending, const char *head, size_t head_len,
                        size_t total, const struct envelope *envelope);
    void (*large_part)(void *arg, const char *bytes, size_t len);
    void (*large_end)(void *arg, bool whole);
    /* The debuggee has stopped reading: send it no requests until `flows` is true again. */
    void (*on_flow)(void *arg, bool flows);
    /* A text of the relay's own, for an `output` event. */
    void (*on_note)(void *arg, const char *category, const char *text);
    /* The member drives or observes from here on; `driver` is the driver's name, or "". */
    void (*on_role)(void *arg, bool drives, const char *driver);
    /* Another member sends a request that may change something in the debuggee (it has no
     * DAP_COMMAND_READS). Nothing may be sent to the debuggee from within. May be NULL. */
    void (*on_disturbed)(void *arg);
    /* The debuggee is gone, without a request of this client's; hub_take_pending() gives the
     * unanswered requests. `why` is a sentence, or NULL if the cluster should be asked. */
    void (*on_lost)(void *arg, const char *why);
    /* The debuggee cannot be reached for now: hub_take_pending() gives the requests that will not
     * be answered. */
    void (*on_silent)(void *arg, const char *why);
    /* hub_leave() is complete: take the pending requests (hub_take_pending()), then call
     * hub_abandon(). */
    void (*on_left)(void *arg);
};

/* A client in a hub, embedded in its owner. All zero is none. */
struct member {
    struct hub *hub; /* NULL: none */
    struct member *next;
    const struct member_ops *ops;
    void *arg;
    char *name; /* "nvim @ 127.0.0.1:50212" */
    bool may_drive, wants_to_drive;
    bool configured; /* configurationDone was answered: the member gets the stops */
    bool leaving;
    bool halted;          /* hub_read_enable(…, false) */
    bool sparing, looked; /* see member_wish and hub_look(); since the last stop */
    int64_t told_role;    /* hub.driver_count at the last on_role */
    struct trim *trims;   /* set requests that are not answered */
    int64_t joined_ms;    /* epoch */
};

struct member_wish {
    const char *name;
    bool may_drive; /* false with an observer's token */
    bool observe;   /* the client wants to observe */
    bool take_over; /* the client becomes the driver, in place of any other */
    /* A task of a session over many tasks, which looks at few of them: Ray is asked for
     * hub_objects() only after hub_look(). */
    bool sparing;
};

enum hub_leave {
    HUB_LEAVE,          /* hold, if the hub holds */
    HUB_LEAVE_CONTINUE, /* the task goes on */
    HUB_LEAVE_KILL,     /* the worker ends */
};

/* --- */

struct hub *hub_open(const struct hub_options *options, const struct hub_ops *ops, void *arg);
/* Continues with a connection that an earlier relay has left in the keeper. Takes over `fd` and
 * `kept`, and uses the log's snapshot and rest; `options` has no pause, and of the target only loop
 * and tune. */
struct hub *hub_adopt(const struct hub_options *options, struct kept *kept, int fd,
                      struct hub_log *log, const struct hub_ops *ops, void *arg);
/* Clears the members, without callbacks. Closes the connection: debugpy resumes all
 * threads, unless a keeper has a duplicate. */
void hub_destroy(struct hub **hub);

/* on_ready follows, from within if the hub is attached already. */
void hub_join(struct hub *hub, struct member *member, const struct member_ops *ops, void *arg,
              const struct member_wish *wish);
/* on_left follows, perhaps from within. */
void hub_leave(struct member *member, enum hub_leave how);
/* The same without `disconnect` and without callbacks; the task is held if the hub holds. For a
 * client that is being destroyed. */
void hub_abandon(struct member *member);

/* True if the member's requests may go to the debuggee. */
bool hub_is_attached(const struct member *member);
/* hub_wants_configuration() is true if `configurationDone` is due. hub_configure() does what that
 * asks for: lets the task run to its next stop, or sends the member the current stops. */
bool hub_wants_configuration(const struct member *member);
void hub_configure(struct member *member);

/* Sends the member the current threads and stops, as when it was configured. */
void hub_tell_stops(struct member *member);

/* The reason (static text) to refuse this request of the member's, or NULL. */
const char *hub_refusal(const struct member *member, const char *json,
                        const struct envelope *envelope);
void hub_forward(struct member *member, struct client_seq client, const char *json, size_t len,
                 const struct envelope *envelope);
/* Interrupts this `evaluate` of the member's, whose answer then comes as a failure. Does nothing if
 * the debuggee works on something else, too: all of that would be given up. */
void hub_interrupt(const struct member *member, struct client_seq client);
/* If the member observes, remembers its set request until it drives, takes what the member had set
 * there as the driver out of the debuggee, and returns true. */
bool hub_keeps_set(struct member *member, const char *json, const struct envelope *envelope);
/* Sends a request of the member's owner, whose answer the client does not see; see link_ask(). `fn`
 * does not run after hub_drop_requests(), or once the member has left. */
void hub_ask(struct member *member, const char *command, const char *arguments, int64_t timeout_ms,
             link_answer_fn fn, void *arg);
/* Drops those with this `arg`; NULL: all of the member's. */
void hub_drop_requests(const struct member *member, const void *arg);
bool hub_has_stopped(const struct member *member);
/* See target_waiting(). */
int hub_waiting(const struct member *member);
size_t hub_count_stopped(const struct member *member); /* threads */
/* The latest stop that still holds, or NULL; borrowed until the next event or request. */
const struct stop *hub_last_stop(const struct member *member);
/* Gives `fn` the set requests that bring the member's breakpoints to another debuggee. */
void hub_each_set(struct member *member, breakpoint_union_fn fn, void *arg);
/* Sends the debuggee this set request of the member's; the answer goes to `fn`, as with hub_ask().
 * False: nothing was sent and `fn` does not run, because the member observes or the hub is not
 * attached: the set is only remembered. */
bool hub_set_quietly(struct member *member, const char *json, const struct envelope *envelope,
                     int64_t timeout_ms, link_answer_fn fn, void *arg);
bool hub_take_pending(struct member *member, struct pending *out);

bool hub_drives(const struct member *member);
/* Makes the member the driver. NULL, or the reason why not. */
const char *hub_take_over(struct member *member);
/* The worker's references. They are asked for when a thread stops while a client is there that is
 * not sparing, and dropped when a thread goes on. NULL without a cluster or a worker id, and once
 * the hub has ended. Lives as long as the hub. */
struct worker_objects *hub_objects(struct hub *hub);
/* The member's client looks at the stopped worker: its objects are asked for now, unless they were
 * at this stop, and right away at the next stop, which may end a step of this client. */
void hub_look(struct member *member);
/* False: the member's client reads too slowly. While such a member drives, the debuggee is not
 * read, unless the task is being let go. To be called again after hub_join(). */
void hub_read_enable(struct member *member, bool enable);

/* --- for the owner --- */

/* True if no new client may join: the hub has ended, or the task is being let go. */
bool hub_is_over(const struct hub *hub);
/* True while the task is being let go: on_released follows. */
bool hub_is_releasing(const struct hub *hub);
/* False if the task was to be let go, and it is not known that it goes on. */
bool hub_goes_on(const struct hub *hub);
/* True if the hub has ended and has no member: it may be destroyed. */
bool hub_is_finished(const struct hub *hub);
/* True if the debuggee was lost while its machine could not be reached. */
bool hub_was_cut(const struct hub *hub);
/* Holds the task from here on, under any policy, until hub_release(). */
void hub_keep(struct hub *hub);
bool hub_is_kept(const struct hub *hub);
/* Sets the relay's own breakpoints in one source, in place of earlier ones; they are merged with
 * the clients'. `arguments` is the JSON of setBreakpoints' arguments. Without effect before
 * on_ready, where the owner sets all of them. */
void hub_set_own(struct hub *hub, const char *arguments);
/* Runs `fn` when the debuggee has handled what it was sent so far, or after `timeout_ms`; without
 * JSON if it has not. Before on_ready, that is without any breakpoint. */
void hub_sync(struct hub *hub, int64_t timeout_ms, link_answer_fn fn, void *arg);
/* Attaches without a client, and holds the task as the policy says. */
void hub_attach_alone(struct hub *hub);
bool hub_is_held(const struct hub *hub); /* attached, and held by the policy or a member */
const struct pause *hub_pause(const struct hub *hub); /* with file and line, once they are known */
bool hub_stands(const struct hub *hub);               /* a thread is stopped */
/* True if lists leave the hub out: a debuggee that has dialled the relay, runs, and has no client.
 */
bool hub_is_hidden(const struct hub *hub);
const char *hub_reason(const struct hub *hub); /* of the last stop; "" while it runs */
size_t hub_members(const struct hub *hub);
const char *hub_driver(const struct hub *hub);    /* "" if no client drives */
int64_t hub_held_since_ms(const struct hub *hub); /* epoch; 0 if it is not held */
int64_t hub_idle_ms(const struct hub *hub);       /* since the last request of a client */
void *hub_arg(const struct hub *hub);             /* the `arg` of hub_open() */
/* The arguments of the debugger's one attach ("" if not known), and the client that attached first:
 * NULL if it was the relay itself, or is not known. */
const char *hub_attach_arguments(const struct hub *hub);
const char *hub_attached_by(const struct hub *hub);
/* The error of a failed attach, while hub_is_over(), or NULL. */
const struct err *hub_problem(const struct hub *hub);
/* Lets every thread run and stays attached. NULL, or the reason why not. */
const char *hub_continue(struct hub *hub, const char *who);
/* The same; `fn` runs when the debuggee has answered, or after `timeout_ms`: see link_ask(). */
const char *hub_continue_then(struct hub *hub, const char *who, int64_t timeout_ms,
                              link_answer_fn fn, void *arg);
/* Lets every thread run, and disconnects from the debuggee; members get a note. NULL: on_released
 * and on_over follow. Else the reason why not: the hub was not attached, and has given that up. */
const char *hub_release(struct hub *hub, const char *who);
/* The keeper has died, and its duplicate of the connection is gone. */
void hub_keeper_lost(struct hub *hub);
/* Another keeper has replaced it: saves the hub there. */
void hub_keeper_renewed(struct hub *hub);
/* Sends all members an `output` event. */
void hub_tell(struct hub *hub, const char *category, const char *text);
/* Checks if the debuggee can be reached: members get on_silent when it cannot, and a note when it
 * can again. Call it every second or so, but not within the ms that it returns: until then it would
 * see nothing new. */
int64_t hub_look_network(struct hub *hub);
/* Another connection of the debuggee's process was cut, or is there again; the next
 * hub_look_network() tells the members. For a debuggee behind the TLS terminator, whose own
 * connection here is one on loopback. */
void hub_note_cut(struct hub *hub, bool cut);
/* Takes over the cluster's newest record of the pause: names come late. */
void hub_update_pause(struct hub *hub, const struct pause *pause);
/* A member has asked the worker, which runs no task: a thread of the user's has outlived its call,
 * or none has. */
void hub_judge_idle(struct hub *hub, bool outlived);
/* Adds to the cluster's record of a held pause what is known here: state, location, clients. */
void hub_describe(const struct hub *hub, struct pause *pause);

#endif
