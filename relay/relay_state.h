/* The relay's inside, for the files that make it up: relay.c (life, clients), relay_watch.c (the
 * cluster and who follows it), relay_ahead.c (answers ahead), relay_api.c and relay_objects.c
 * (HTTP). */
#ifndef RAYDBG_RELAY_RELAY_STATE_H
#define RAYDBG_RELAY_RELAY_STATE_H

#include "base/buf.h"
#include "relay/ahead.h"
#include "relay/audit.h"
#include "relay/relay.h"
#include "relay/session.h"

/* One DAP client. */
struct relay_client {
    struct relay_client *next;
    struct relay *relay;
    struct conn *conn; /* NULL once it is closed */
    struct session *session;
    struct ahead *ahead; /* NULL: it takes no answers ahead */
    size_t part_left;    /* of a message that passes in parts */
    struct buf late;     /* what `ahead` says meanwhile: a size_t each, and as many bytes */
    enum auth_role role;
    int64_t number;
    int64_t since_ms; /* epoch */
    char *peer;
    bool ended;  /* the session needs nothing more */
    bool halted; /* it reads too slowly */
    bool dropped;
    bool heard;             /* it has said something */
    struct timer *patience; /* until a dropped one is closed, read or not */
};

/* One reader of /events. */
struct follower {
    struct follower *next;
    struct relay *relay;
    struct conn *conn;
    bool greeted;
    size_t greeting; /* bytes: it may be behind by these, too */
    bool dropped;
};

/* Somebody who waits for a fresh look at the cluster. */
struct looker {
    struct looker *next;
    void (*fn)(void *arg, const struct err *err, const struct pause_list *pauses);
    void *arg;
};

struct relay {
    struct relay_options options;
    struct loop *loop;
    struct listener *listener;
    struct hubs *hubs;
    struct tickets *tickets;
    struct audit *audit;
    size_t taken_over;
    char *name; /* "relay 127.0.0.1:4713" */
    struct relay_client *clients;
    struct follower *followers;
    int64_t client_count; /* ever */
    struct timer *sweep;
    struct timer *network;

    /* relay_watch.c */
    struct timer *poll;
    int64_t trimmed_us;
    struct timer *announce;
    struct looker *lookers;
    bool looking;
    int64_t names_until_us; /* how long the lookers wait for names */
    struct timer *names;
    int64_t looked_us;      /* when the last look at the cluster ended; 0: never */
    struct err look_error;  /* of the last look */
    struct pause_list told; /* the pauses as the followers were told them */
    char *told_sessions;
    struct http_wait *waits;            /* relay_api.c: POSTs that wait for an attach */
    struct objects_wait *objects_waits; /* relay_objects.c: who waits for the sweep under way */
    struct object_sweep *objects;       /* that sweep, once it is taken */
    struct object_report *objects_report;
};

/* relay.c */
void relay_act(struct relay *relay, const char *action, const char *peer, enum auth_role role,
               const char *client, const struct pause *pause, const char *detail);

/* Sends one message. */
void relay_client_send(struct relay_client *client, const char *json, size_t len);

/* relay_ahead.c */
/* A message from the client, for its session. */
void relay_client_receive(struct relay_client *client, const char *json, size_t len);
/* True if the session's message is not for the client. */
bool relay_client_withholds(struct relay_client *client, const char *head, size_t head_len,
                            const char *rest, size_t rest_len);
/* So many bytes of a message in parts have been sent. */
void relay_client_part(struct relay_client *client, size_t len);

/* relay_watch.c */
void relay_watch_start(struct relay *relay);
void relay_watch_stop(struct relay *relay);
/* Something changed: followers are told soon. */
void relay_announce(struct relay *relay);
/* Runs fn with all pauses, as they are now; a look that is some 100 ms old will do. May run from
 * within. `err` is set if the cluster could not be asked; what is held is listed all the same. */
void relay_look(struct relay *relay,
                void (*fn)(void *arg, const struct err *err, const struct pause_list *pauses),
                void *arg);

/* relay_api.c */
void relay_on_http(void *arg, struct http_call *call);
void relay_api_stop(struct relay *relay);
void relay_answer_error(struct http_call *call, int status, const struct err *err);
void relay_refuse(struct http_call *call, int status, const char *what, const char *hint);
/* What the API and /events call a pause: its worker's id, or HOST:PORT. The caller frees. */
char *relay_pause_id(const struct pause *pause);
void relay_pause_json(const struct pause *pause, struct buf *out);
void relay_sessions_json(const struct relay *relay, struct buf *out);

/* relay_objects.c: GET /v1/objects */
void relay_get_objects(struct relay *relay, struct http_call *call);
void relay_objects_stop(struct relay *relay);

#endif
