/* Sets a relay's breakpoints by file, for `raydbg break` and `raydbg run`. */
#ifndef RAYDBG_CLI_RUN_BREAK_ASK_H
#define RAYDBG_CLI_RUN_BREAK_ASK_H

#include "base/buf.h"
#include "cli/common/options.h"
#include "dap/scan.h"
#include "relay/io/loop.h"
#include "relay/locate/relay_address.h"

#include <stdint.h>

/* The conditions under which a hit stops, and the run that the breakpoint is of; all may be NULL.
 */
struct break_wish {
    const char *condition, *hit, *skip, *log, *task, *rank, *node;
    const char
        *run; /* the id of its agent key: it ends with this run, and replaces none of others */
    bool first, stop_all;
};

#define BREAK_OPTION_ROWS(type, wish)                                                              \
    {"if",                                                                                         \
     0,                                                                                            \
     OPTION_STRING,                                                                                \
     offsetof(type, wish.condition),                                                               \
     .value = "EXPR",                                                                              \
     .help = "stop only where this Python expression is true; one that fails does not stop, and "  \
             "--list shows the error"},                                                            \
        {"hit",         0,                                                                         \
         OPTION_STRING, offsetof(type, wish.hit),                                                  \
         .value = "N",  .help = "stop at the Nth hit only, counted over all processes"},           \
        {"skip",        0,                                                                         \
         OPTION_STRING, offsetof(type, wish.skip),                                                 \
         .value = "N",  .help = "the first N hits, over all processes, do not stop or count"},     \
        {"first", 0, OPTION_FLAG, offsetof(type, wish.first),                                      \
         .help = "stop at the first hit of all processes, and at no other"},                       \
        {"stop-all", 0, OPTION_FLAG, offsetof(type, wish.stop_all),                                \
         .help = "a hit that stops has all other tasks of its run stop, too, where they are"},     \
        {"log",           0,                                                                       \
         OPTION_STRING,   offsetof(type, wish.log),                                                \
         .value = "TEXT", .help = "do not stop: print TEXT in the task, with its {expressions}"},  \
        {"rank",        0,                                                                         \
         OPTION_STRING, offsetof(type, wish.rank),                                                 \
         .value = "N",  .help = "only in the process or actor of this rank, as lists show it"},    \
        {"node",                                                                                   \
         0,                                                                                        \
         OPTION_STRING,                                                                            \
         offsetof(type, wish.node),                                                                \
         .value = "NODE",                                                                          \
         .help = "only in workers of the node with this address, or start of its id"},             \
    {                                                                                              \
        "task", 0, OPTION_STRING, offsetof(type, wish.task),                                       \
            .value = "GLOB",                                                                       \
            .help = "only in tasks whose name, function, actor class or actor is called like this" \
    }

/* Appends the members "task", "rank" and "node" that are given, each after a comma. -1 if one is
 * not sound. */
int break_scope(struct buf *json, const struct break_wish *wish, struct err *err);
/* Sets a breakpoint at `where`, "FILE:LINE"; a FILE of this machine may be relative. `*id` is the
 * relay's number for it. Runs the loop. */
int break_set(struct loop *loop, const struct relay_address *relay, const struct break_wish *wish,
              const char *where, int64_t *id, struct err *err);
/* Removes the one with this id. */
int break_clear(struct loop *loop, const struct relay_address *relay, int64_t id, struct err *err);
/* Removes those with these ids, set at these places. Takes some seconds at most, and says on stderr
 * which may stay then. */
void break_clear_all(struct loop *loop, const struct relay_address *relay, const int64_t *ids,
                     const char *const *places, size_t count);
/* Each says something about the run's processes on stderr, and returns true if there is something
 * to say: how much slower some are for their breakpoints, and that those on other nodes do not
 * stop. `all` is the relay's answer to GET /v1/breakpoints. */
bool break_say_price(const char *json, struct span all);
bool break_say_away(const char *json, struct span all);
/* Splits "FILE:LINE" and makes the path absolute; the caller frees *file. */
int break_location(const char *where, char **file, int64_t *line, struct err *err);

#endif
