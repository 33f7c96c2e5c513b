/* One look at the cluster of a command line, from its address to what is printed. */
#ifndef RAYDBG_CLI_WHY_WHY_ASK_H
#define RAYDBG_CLI_WHY_WHY_ASK_H

#include "base/buf.h"
#include "relay/evidence/evidence.h"

struct relay_page;

/* Shows what the look gave: appends to `out`. `cluster` is the cluster's address; `subject` is NULL
 * without a name. */
typedef void (*why_ask_fn)(void *arg, const char *cluster, const struct why_records *records,
                           const struct why_subject *subject, struct buf *out);

/* `address` is --address, or NULL. `further` is one more page to ask the cluster's relay for,
 * before `fn` is called; or NULL. Runs a loop until the cluster has answered, then prints what `fn`
 * shows, or the error; returns the exit code. */
int why_ask(const char *address, const struct evidence_query *wanted, struct relay_page *further,
            why_ask_fn fn, void *arg);

#endif
