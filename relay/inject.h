/* What the relay changes inside a Ray worker so that a debugger behaves there alike on every
 * Python: one Python expression, evaluated by debugpy without a frame.
 *
 * When: an `evaluate` {expression, context: "repl"} with no frameId, after the adapter's
 * `initialized` event and before `configurationDone`; threads that wait in Ray's breakpoint() then
 * run with it. It may be sent again to the same worker: what is in place stays.
 *
 * The answer's `result` (debugpy >= 1.8.21 at the latest; empty in <= 1.8.6, where a value would
 * be printed among the user's output) is one line for a log:
 *     3.13.0/1.8.22 nodelay,wake,breakpoint=,postmortem!KeyError('ray.util.debugpy')
 * `=`: was in place already; `!`: failed, why; nothing else is affected by it. An injection
 * that does not concern the worker's Python is not named. A failure is never fatal: the user
 * has what Ray and debugpy give by themselves. */
#ifndef RAYDBG_RELAY_INJECT_H
#define RAYDBG_RELAY_INJECT_H

#include <stdbool.h>
#include <stddef.h>

/* When an injection is part of the expression. */
enum inject_when {
    INJECT_ALWAYS,
    INJECT_TUNE,           /* unless --no-tune */
    INJECT_SUB_PROCESS,    /* if child processes are debugged too: takes the next one back */
    INJECT_NO_SUB_PROCESS, /* if they are not */
};

struct inject_version {
    int major, minor;
};

struct injection {
    const char *name;                /* in the answer */
    const char *purpose;             /* one clause, for documents and logs */
    const char *fact;                /* what in which source makes it necessary */
    const char *source;              /* Python statements, run in a namespace of their own */
    struct inject_version low, high; /* sys.version_info[:2] in [low, high) */
    enum inject_when when;
    bool once; /* not run again in a worker that had it */
};

struct inject_options {
    bool tune;        /* latency: no Nagle delay, no 200 ms sleep on a step */
    bool sub_process; /* debugpy follows child processes, which then wait for a client */
    bool only_tune;   /* nothing but `tune`: the debuggee need not be a Ray worker */
};

/* Gives one line that evaluates to a string or None, in plain ASCII; the caller frees. Pure. */
char *inject_expression(const struct inject_options *options);

/* The table, in the order in which it is run. */
const struct injection *inject_table(size_t *count);

#endif
