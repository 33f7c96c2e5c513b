/* One breakpoint of the relay's own: a file's line, and which hits of it count. Pure. */
#ifndef RAYDBG_RELAY_BREAKPOINTS_FILE_BREAKPOINT_H
#define RAYDBG_RELAY_BREAKPOINTS_FILE_BREAKPOINT_H

#include "base/buf.h"
#include "base/err.h"
#include "dap/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* Strings are owned; NULL where absent. */
struct file_breakpoint {
    int64_t id;      /* 1, 2, …; 0: not in a store yet */
    char *file;      /* an absolute path, as the processes know it */
    int64_t line;    /* from 1 */
    char *condition; /* Python, in the frame: stops if it is true */
    char *log;       /* text with {expressions}: printed instead of stopping */
    char *task;      /* a glob for the task's name, its function, its actor's class or its actor */
    char *node;      /* only in the workers of this node: its address, or the start of its id */
    char *run;     /* the id of the agent key of the `raydbg run` that has set it; NULL: none has */
    char *problem; /* the error of its condition in some process; not remembered */
    int64_t rank;  /* only in processes of this rank; -1: of any, or of none */
    int64_t hit;   /* stops at this hit only; 0: at each */
    int64_t skip;  /* so many hits pass before the first that counts */
    bool first;    /* the first hit that counts stops, and no other */
    bool stop_all; /* a hit that stops has all other tasks of its run stop, too */
    int64_t hits;  /* those counted so far, over all processes: see file_breakpoint_count() */
};

/* The node of a process; both may be NULL or "", which no breakpoint with a `node` reaches. */
struct breakpoint_node {
    const char *node_id, *node_ip;
};

/* Reads {"file", "line", "if", "log", "task", "node", "run", "rank", "hit", "skip", "first",
 * "stop_all", "hits", "id"}; -1 with `err` set if it is not sound. */
int file_breakpoint_read(struct file_breakpoint *out, const char *json, struct span object,
                         struct err *err);
void file_breakpoint_clear(struct file_breakpoint *breakpoint);
/* Appends the same object, without its end and without the problem: add members, then "}". */
void file_breakpoint_json(const struct file_breakpoint *breakpoint, struct buf *out);
/* True if it can stop processes there: its node is this one, and it has not had its last hit. */
bool file_breakpoint_reaches(const struct file_breakpoint *breakpoint,
                             const struct breakpoint_node *node);
/* True if the relay counts its hits: each process asks before it stops. */
bool file_breakpoint_is_counted(const struct file_breakpoint *breakpoint);
/* Counts a hit; true if this one is to stop. */
bool file_breakpoint_count(struct file_breakpoint *breakpoint);
/* True if no further hit can stop. */
bool file_breakpoint_is_spent(const struct file_breakpoint *breakpoint);
/* Appends the element of DAP's setBreakpoints for it: the worker's agent decides on its condition,
 * task, rank and text, and asks about its hits (check() in relay/worker_agent/agent_stops.py). */
void file_breakpoint_dap(const struct file_breakpoint *breakpoint, struct buf *out);

#endif
