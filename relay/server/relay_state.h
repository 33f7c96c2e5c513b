/* Internals of the relay, for the files that make it up: relay.c (life, the listener, the hubs),
 * relay_clients.c (DAP clients), relay_prefetch.c (prefetched answers), relay_watch.c (the cluster
 * and the followers of /events), relay_idle.c (its end when nothing needs it), relay_api.c,
 * relay_post.c, relay_objects.c, relay_breakpoints.c and relay_why.c (HTTP), relay_runs.c (the
 * processes of `raydbg run`). */
#ifndef RAYDBG_RELAY_SERVER_RELAY_STATE_H
#define RAYDBG_RELAY_SERVER_RELAY_STATE_H

#include "base/buf.h"
#include "base/invariant.h"
#include "relay/access/audit.h"
#include "relay/access/certificate.h"
#include "relay/access/tickets.h"
#include "relay/breakpoints/breakpoint_store.h"
#include "relay/client/prefetch.h"
#include "relay/reverse/agents.h"
#include "relay/server/relay.h"
#include "relay/session/session.h"

/* One DAP client. */
struct relay_client {
    uint32_t magic;
    struct relay_client *next;
    struct relay *relay;
    struct conn *conn; /* NULL once it is closed */
    struct session *session;
    struct prefetch *prefetch; /* NULL: the client takes no prefetched answers */
    size_t part_left;          /* bytes left of a message that passes in parts */
    bool large;                /* there was a large message since the client had read all */
    struct buf late; /* `prefetch` messages sent meanwhile: a size_t each, and as many bytes */
    enum auth_role role;
    int64_t number;
    int64_t since_ms; /* epoch */
    char *peer;
    bool ended;  /* the session needs nothing more */
    bool halted; /* it reads too slowly */
    bool dropped;
    bool heard;             /* a message has come from it */
    struct timer *patience; /* closes a dropped client, whether it reads or not */
};
INVARIANT_MAGIC(relay_client, 0xff7ae3c2)
#define relay_client_checked(object) relay_client_checked_at(INVARIANT_HERE, object)

/* One reader of /events. */
struct follower {
    struct follower *next;
    struct relay *relay;
    struct conn *conn;
    bool greeted;
    size_t greeting; /* bytes of the first message, allowed beyond FOLLOWER_HIGH */
    bool dropped;
};

/* A caller that waits for a refresh of the pauses. */
struct refresh_waiter {
    struct refresh_waiter *next;
    void (*fn)(void *arg, const struct err *err, const struct pause_list *pauses);
    void *arg;
};

struct relay {
    uint32_t magic;
    struct relay_options options;
    struct loop *loop;
    struct listener *listener;
    char fingerprint[CERTIFICATE_FINGERPRINT_SIZE]; /* of its certificate; "" without TLS */
    struct hub_table *hubs;
    struct breakpoint_store *breakpoints;
    struct session_breakpoints *session_breakpoints;
    struct agents *agents;
    struct tickets *tickets;
    struct session_admission admission; /* by `tickets` */
    struct session_runs runs;           /* relay_runs.c */
    struct audit *audit;
    size_t taken_over;
    char *name; /* "relay 127.0.0.1:4713" */
    struct relay_client *clients;
    struct follower *followers;
    int64_t client_count; /* since the relay started */

    /* relay_clients.c */
    struct timer *sweep;   /* frees the clients that have ended */
    struct timer *network; /* the next look for silent clients */

    /* relay_idle.c */
    struct timer *idle;
    int64_t used_us; /* when it was needed last */

    /* relay_watch.c */
    struct timer *poll;
    int64_t trimmed_us;
    struct timer *announce;
    struct refresh_waiter *refresh_waiters;
    bool refreshing;
    int64_t names_until_us; /* until when they wait for names */
    struct timer *names;
    int64_t refreshed_us;     /* when the last refresh ended; 0: never */
    struct err refresh_error; /* of the last refresh */
    bool cluster_silent;      /* it does not answer, and the clients know it */
    struct pause_list told;   /* the pauses that the followers know */
    char *told_sessions;
    struct http_wait *waits;            /* relay_post.c: POSTs that wait */
    struct objects_wait *objects_waits; /* relay_objects.c: calls that wait for the sweep */
    struct relay_query *queries;        /* relay_why.c */
    struct object_sweep *objects;       /* that sweep, once it is taken */
    struct object_report *objects_report;
};
INVARIANT_MAGIC(relay, 0x69462b39)
#define relay_checked(object) relay_checked_at(INVARIANT_HERE, object)

/* relay.c */
void relay_act(struct relay *relay, const char *action, const char *peer, enum auth_role role,
               const char *client, const struct pause *pause, const char *detail);

/* relay_dial.c */
/* The address that agents, those of other nodes too, dial with TLS: "10.0.0.9:4713"; NULL: there is
 * none. The caller frees. */
char *relay_dial_address(const struct relay *relay);
/* True if only processes of this host can dial it. */
bool relay_dial_is_local(const char *address);

/* relay_clients.c */
/* The listener's events of a client: a new connection, a stream that is nonsense or beyond a limit,
 * a queue that has run empty, the end. A closed client is freed, from the loop, when its session
 * needs nothing more. */
struct relay_client *relay_client_open(struct relay *relay, struct conn *conn, enum auth_role role);
void relay_client_broken(struct relay_client *client, const char *problem);
void relay_client_drained(struct relay_client *client);
void relay_client_closed(struct relay_client *client);
/* Sends one message. */
void relay_client_send(struct relay_client *client, const char *json, size_t len);
/* Begins to look for clients whose machine does not answer. */
void relay_clients_start(struct relay *relay);
/* The relay ends: tells the clients why their connections do. */
void relay_clients_stop(struct relay *relay);
/* Frees all clients, once there is no listener any more. */
void relay_clients_free(struct relay *relay);

/* relay_idle.c */
void relay_idle_start(struct relay *relay);
void relay_idle_stop(struct relay *relay);
/* Restarts the idle time: a client is about to come. */
void relay_idle_put_off(struct relay *relay);

/* relay_prefetch.c */
/* Handles a message from the client: it is for `prefetch` or for the session. */
void relay_client_receive(struct relay_client *client, const char *json, size_t len);
/* True if the session's message answers a prefetch and is not for the client. */
bool relay_client_withholds(struct relay_client *client, const char *head, size_t head_len,
                            const char *rest, size_t rest_len);
/* Counts `len` bytes of a message in parts as sent. */
void relay_client_part(struct relay_client *client, size_t len);

/* relay_watch.c */
void relay_watch_start(struct relay *relay);
void relay_watch_stop(struct relay *relay);
/* Something has changed: tells the followers soon. */
void relay_announce(struct relay *relay);
/* Runs fn with all present pauses; a refresh some 100 ms ago will do. May run from within.
 * `err` is set if the cluster could not be asked; held pauses are listed all the same. */
void relay_refresh(struct relay *relay,
                   void (*fn)(void *arg, const struct err *err, const struct pause_list *pauses),
                   void *arg);

/* relay_api.c */
void relay_on_http(void *arg, struct http_call *call);
/* Answers with `json`, which it frees. */
void relay_answer_json(struct http_call *call, int status, struct buf *json);
void relay_answer_error(struct http_call *call, int status, const struct err *err);
void relay_refuse(struct http_call *call, int status, const char *what, const char *hint);
/* The id of a pause in the API and in /events: its worker's id, or HOST:PORT. The caller frees. */
char *relay_pause_id(const struct pause *pause);
void relay_pause_json(const struct pause *pause, struct buf *out);
void relay_sessions_json(const struct relay *relay, struct buf *out);

/* relay_post.c: POST /v1/pauses/{rest}; `rest` is "{id}/{deed}", the id any characters but a slash
 */
void relay_post_pause(struct relay *relay, struct http_call *call, const char *rest);
/* A hub's task was let go (`problem` NULL), or is not known to go on: answers the calls for it. */
void relay_post_released(struct relay *relay, const struct hub *hub, const char *problem);
void relay_post_stop(struct relay *relay);

/* relay_breakpoints.c: /v1/breakpoints */
void relay_get_breakpoints(struct relay *relay, struct http_call *call);
/* POST: `rest` is "" to set one, "{id}/clear" or "clear" to remove one or all. */
void relay_post_breakpoints(struct relay *relay, struct http_call *call, const char *rest);

/* relay_runs.c: sessions about a `raydbg run` */
void relay_runs_start(struct relay *relay);

/* relay_why.c: GET /v1/why, /v1/logs, /v1/stack and /v1/stack.txt; `name` is the rest of the path,
 * NULL without one. */
void relay_get_why(struct relay *relay, struct http_call *call, const char *name);
void relay_get_logs(struct relay *relay, struct http_call *call, const char *name);
void relay_get_stack(struct relay *relay, struct http_call *call, const char *name);
void relay_get_stack_text(struct relay *relay, struct http_call *call, const char *name);
void relay_why_stop(struct relay *relay);

/* relay_objects.c: GET /v1/objects */
void relay_get_objects(struct relay *relay, struct http_call *call);
void relay_objects_stop(struct relay *relay);

#endif
