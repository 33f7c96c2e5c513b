/* The way out to one DAP client: it numbers the messages, builds the relay's own and passes on
 * those of a debuggee. */
#ifndef RAYDBG_RELAY_CLIENT_H
#define RAYDBG_RELAY_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stdint.h>

/* One whole message, without a header; borrowed for the call. */
typedef void (*client_message_fn)(void *arg, const char *json, size_t len);
/* The same in two runs of bytes, so that megabytes are not copied to be put together. */
typedef void (*client_halves_fn)(void *arg, const char *head, size_t head_len, const char *rest,
                                 size_t rest_len);

/* A debuggee's message as it came, which is not numbered anew: the bytes' seq and request_seq mean
 * nothing, in a response `request_seq` is the client's. What goes here
 * does not go to `fn`. */
typedef void (*client_pass_fn)(void *arg, const char *json, size_t len,
                               const struct envelope *envelope, int64_t request_seq);

struct client {
    client_message_fn fn;
    client_halves_fn halves; /* for long messages; or NULL */
    client_pass_fn pass;     /* for a client in this process that would read it again; or NULL */
    void *arg;
    int64_t seq; /* of the last message */
    bool gone;   /* nothing is sent any more */
    struct buf out;
    bool large;        /* a message passes in parts: others wait behind it */
    struct buf behind; /* these: a size_t each, and as many bytes */
};

void client_init(struct client *client, client_message_fn fn, void *arg);
void client_free(struct client *client);

/* A reverse request; gives its seq. `arguments` is JSON, or NULL. */
int64_t client_request(struct client *client, const char *command, const char *arguments);
/* `body` is JSON, or NULL. */
void client_respond(struct client *client, int64_t request_seq, const char *command,
                    const char *body);
void client_refuse(struct client *client, int64_t request_seq, const char *command, const char *why,
                   bool show_user);
/* The same in the words of an error, shown to the user. */
void client_fail(struct client *client, int64_t request_seq, const char *command,
                 const struct err *err);
void client_event(struct client *client, const char *event, const char *body);
/* An `output` event. */
void client_say(struct client *client, const char *category, const char *text);

/* A debuggee's message under the client's numbers, every other byte as it was. `request_seq` is
 * used for responses only. */
void client_pass(struct client *client, const char *json, size_t len,
                 const struct envelope *envelope, int64_t request_seq);
/* The same for a message that was edited: its spans are read anew. */
void client_pass_edited(struct client *client, const struct buf *message, int64_t request_seq);

/* A message begins to pass in parts, by another way, or has passed: what is sent meanwhile waits
 * for its end. */
void client_large(struct client *client, bool passes);

#endif
