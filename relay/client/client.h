/* The output to one DAP client: numbers the messages, builds the relay's own and forwards a
 * debuggee's. */
#ifndef RAYDBG_RELAY_CLIENT_CLIENT_H
#define RAYDBG_RELAY_CLIENT_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "dap/envelope.h"
#include "dap/line_base.h"

#include <stdbool.h>
#include <stdint.h>

/* One whole message, without a header; borrowed for the call. */
typedef void (*client_message_fn)(void *arg, const char *json, size_t len);
/* The same in two runs of bytes, so that megabytes are not copied to be put together. */
typedef void (*client_halves_fn)(void *arg, const char *head, size_t head_len, const char *rest,
                                 size_t rest_len);

/* A debuggee's message as it came, without the client's numbers: ignore the seq and request_seq in
 * its bytes; for a response, `request_seq` is the client's. A message that goes here does not go to
 * `fn`. */
typedef void (*client_pass_fn)(void *arg, const char *json, size_t len,
                               const struct envelope *envelope, int64_t request_seq);

/* A request that the client still waits for; its seq may be any number, 0 too. */
struct open_request {
    bool open;
    int64_t seq;
};

static inline void open_request_begin(struct open_request *request, int64_t seq)
{
    *request = (struct open_request){true, seq};
}

/* Returns the seq of an open request, for its response, and closes the request. */
static inline int64_t open_request_close(struct open_request *request)
{
    request->open = false;
    return request->seq;
}

struct client {
    client_message_fn fn;
    client_halves_fn halves; /* for long messages; or NULL */
    client_pass_fn pass;     /* for a client in this process, saves it envelope_read(); or NULL */
    void *arg;
    struct line_base base; /* how it counts lines and columns */
    int64_t seq;           /* of the last message */
    bool gone;             /* nothing more is sent */
    struct buf out;
    bool large;        /* a message is passing in parts: others wait in `behind` */
    struct buf behind; /* for each waiting message its length (a size_t) and its bytes */
};

void client_init(struct client *client, client_message_fn fn, void *arg);
void client_free(struct client *client);

/* Sends a reverse request; returns its seq. `arguments` is JSON, or NULL. */
int64_t client_request(struct client *client, const char *command, const char *arguments);
/* `body` is JSON, or NULL. */
void client_respond(struct client *client, int64_t request_seq, const char *command,
                    const char *body);
void client_refuse(struct client *client, int64_t request_seq, const char *command, const char *why,
                   bool show_user);
/* The same with the text of `err`, shown to the user. */
void client_fail(struct client *client, int64_t request_seq, const char *command,
                 const struct err *err);
void client_event(struct client *client, const char *event, const char *body);
/* An `output` event. */
void client_say(struct client *client, const char *category, const char *text);

/* Sends a debuggee's message with the client's numbers, every other byte unchanged. `request_seq`
 * is used for responses only. */
void client_pass(struct client *client, const char *json, size_t len,
                 const struct envelope *envelope, int64_t request_seq);
/* The same for a message that was edited: reads its envelope again. */
void client_pass_edited(struct client *client, const struct buf *message, int64_t request_seq);

/* A message begins to pass in parts, outside of this struct, or has passed: messages that are sent
 * meanwhile wait for its end. */
void client_large(struct client *client, bool passes);

#endif
