/* Sends one request of a command to a relay. */
#ifndef RAYDBG_CLI_COMMON_RELAY_ASK_H
#define RAYDBG_CLI_COMMON_RELAY_ASK_H

#include "base/buf.h"
#include "relay/locate/relay_address.h"

#include <stdbool.h>
#include <stdint.h>

/* `json` is the body of a POST, or NULL. Runs the loop until the response comes, 30 s at most. The
 * caller frees `body`, also after an error, when it is empty. */
int relay_ask(struct loop *loop, const struct relay_address *relay, const char *method,
              const char *path, const char *json, struct buf *body, struct err *err);

/* `body` is borrowed, NULL after an error. */
typedef void (*relay_answer_fn)(void *arg, size_t index, const struct buf *body,
                                const struct err *err);
/* POSTs to each path, some at a time; `fn` gets the answers in the order of the paths, each as soon
 * as it and those before it are there. */
void relay_ask_each(struct loop *loop, const struct relay_address *relay, char *const *paths,
                    size_t count, relay_answer_fn fn, void *arg);
/* The same, with a time limit for all of them. */
void relay_ask_each_within(struct loop *loop, const struct relay_address *relay, char *const *paths,
                           size_t count, int64_t ms, relay_answer_fn fn, void *arg);

/* A path to GET, and the answer, which is empty after an error; the caller frees it. */
struct relay_page {
    const char *path;
    struct buf body;
};

/* GETs the pages from a relay that runs here, or that the environment names, for the cluster of
 * this --address (NULL: the usual one). False if there is none, or if it does not answer with the
 * first page. The caller frees the relay's name, "127.0.0.1:4713". */
bool relay_ask_here(const char *address, struct relay_page *pages, size_t count, char **name);

/* Appends a name to a path; all characters but RFC 3986's unreserved ones become %XX. */
void relay_ask_add_name(struct buf *path, const char *name);

/* Prints that there is no relay; returns the exit code. */
int relay_is_missing(void);

#endif
