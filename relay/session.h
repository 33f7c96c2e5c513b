/* One DAP client's session, with no transport: messages in, messages out. It finds the pause that
 * the client's `attach` names, attaches, and relays. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_SESSION_H
#define RAYDBG_RELAY_SESSION_H

#include "relay/cluster.h"
#include "relay/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;

/* What the command line says; an `attach` argument of the same name wins. All borrowed until
 * session_destroy(). */
struct session_options {
    struct loop *loop;
    const char *address;       /* --address, or NULL */
    const char *task;          /* TASK for an attach that names none, or NULL */
    const char *connect;       /* "HOST:PORT" of a debugpy adapter: no discovery; or NULL */
    struct cluster *cluster;   /* an already refreshed cluster to use, or NULL */
    const struct pause *pause; /* the pause to attach to, already chosen from it, or NULL */
    bool tune;                 /* false: --no-tune */
    bool kill;                 /* --kill: terminate and terminateDebuggee end the worker */
};

struct session_ops {
    /* One whole DAP message for the client, without a header; borrowed for the call. */
    void (*on_message)(void *arg, const char *json, size_t len);
    /* The session is over (disconnect was answered, or the stream was nonsense): the transport may
     * close once what on_message() gave is delivered. Called at most once. */
    void (*on_end)(void *arg);
};

struct session *session_create(const struct session_options *options, const struct session_ops *ops,
                               void *arg);

/* One message from the client. on_message() may run from within. */
void session_receive(struct session *session, const char *json, size_t len);

/* The client's byte stream is broken (a bad header): says so to the client, then ends. */
void session_broken(struct session *session, const char *problem);

/* The client is gone without a word; the task goes on, as it does with debugpy itself. on_end()
 * runs when the debuggee's side is closed too. */
void session_client_gone(struct session *session);

/* True once session_broken() has run, also from session_receive() for what is no DAP message. */
bool session_is_broken(const struct session *session);

/* Closes the link, if there still is one; no callback runs after. */
void session_destroy(struct session **session);

#endif
