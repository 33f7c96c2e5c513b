/* The changes that the relay makes inside a Ray worker so that a debugger behaves alike on every
 * Python: one Python expression, which debugpy evaluates without a frame.
 *
 * It is sent as an `evaluate` {expression, context: "watch"} with no frameId, after the adapter's
 * `initialized` event and before `configurationDone`; threads that wait in Ray's breakpoint() then
 * run with the changes. It may be sent again to the same worker: changes in place stay. As a "repl"
 * it could end a worker that prints just then (docs/facts/debugpy.md#0.8).
 *
 * The answer's `result` (debugpy >= 1.8.21 at the latest; empty in <= 1.8.6, where a value would be
 * printed among the user's output) is one line for a log:
 *     3.13.0/1.8.22 nodelay,wake,breakpoint=,postmortem!KeyError('ray.util.debugpy')
 * Facts follow it if they are known: `adapter=PID`, debugpy's adapter on the worker's machine;
 * `cut=900s`, how long the adapter holds the task while the network to its client is cut (else 16
 * s); `waiting=3`, how many threads wait in debugpy.wait_for_client(). `=` means that an injection
 * was already in place, `!` that it failed, with the reason; a failure does not affect the others.
 * An injection that is not for the worker's Python is not named. A failure is never fatal: the user
 * has what Ray and debugpy give by themselves. */
#ifndef RAYDBG_RELAY_INJECT_INJECT_H
#define RAYDBG_RELAY_INJECT_INJECT_H

#include <stdbool.h>
#include <stddef.h>

/* When an injection is part of the expression. */
enum inject_when {
    INJECT_ALWAYS,
    INJECT_TUNE,           /* unless --no-tune */
    INJECT_SUB_PROCESS,    /* if child processes are debugged, too: undoes the next one */
    INJECT_NO_SUB_PROCESS, /* if child processes are not debugged */
    INJECT_ADAPTER,        /* if debugpy's adapter is between the relay and pydevd */
};

struct inject_version {
    int major, minor;
};

struct injection {
    const char *name;                /* as in the answer */
    const char *purpose;             /* one clause, for documents and logs */
    const char *fact;                /* the source code that makes it necessary */
    const char *source;              /* Python statements, run in their own namespace */
    struct inject_version low, high; /* sys.version_info[:2] in [low, high) */
    enum inject_when when;
    bool once; /* does not run again in a worker that has it */
};

struct inject_options {
    bool tune;        /* latency: no Nagle delay, no 200 ms sleep on a step */
    bool sub_process; /* debugpy follows child processes, which then wait for a client */
    bool reverse;     /* pydevd has dialled the relay: there is no adapter */
    bool only_tune;   /* only the INJECT_TUNE ones: the debuggee need not be a Ray worker */
};

/* Returns one line of plain ASCII that evaluates to a string or None; the caller frees. Pure. */
char *inject_expression(const struct inject_options *options);

/* True for the `output` of pydevd's warning that the expression takes longer than 3 s, which has
 * all of it as its text. Pure. */
bool inject_is_warned_of(const char *output);

/* How long debugpy's adapter by itself holds the task while the network to its client is cut. */
enum { INJECT_CUT_DEBUGPY_S = 16 };
/* The same time by the worker's answer (NULL: none), in seconds; 0 if the answer does not have
 * it. */
int inject_cut_s(const char *answer);
/* The pid of debugpy's adapter on the worker's machine; 0 if the answer does not have it. */
int inject_adapter(const char *answer);
/* How many threads wait for `configurationDone`; -1 if the answer does not have it. */
int inject_waiting(const char *answer);

/* Evaluated in a worker that has the injection, it answers every open request with a failure and
 * interrupts what is evaluated. Its own answer's `result` is `interrupted COUNT`, or `busy THREAD,
 * THREAD...` if some run on, because nothing interrupts a wait outside of Python in a thread other
 * than the main one: such a thread is interrupted as soon as it runs Python again. Without the
 * injection it has no effect. */
#define INJECT_GIVE_UP "None and 'raydbg: give up'"

/* The table, in the order in which the injections run. */
const struct injection *inject_table(size_t *count);

#endif
