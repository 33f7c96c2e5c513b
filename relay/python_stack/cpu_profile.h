/* CPU profiles of many processes as one: py-spy's samples, which it writes as folded stacks. Frames
 * of Ray's and of the debugger are folded, as in live_stacks.h; a sample without a frame of the
 * program's is left out. Pure. */
#ifndef RAYDBG_RELAY_PYTHON_STACK_CPU_PROFILE_H
#define RAYDBG_RELAY_PYTHON_STACK_CPU_PROFILE_H

#include "relay/python_stack/process_list.h"

#include <stdint.h>

/* A line of a function. All counts are samples. */
struct cpu_frame {
    char *function;           /* printable, as `file` */
    char *file;               /* "": unknown */
    int64_t line;             /* 0: unknown, as of a native frame */
    size_t function_position; /* in cpu_profile.functions */
    uint64_t self, total;
    uint64_t last_stack; /* the last one that it was counted in */
};

/* A recursive function is counted once for each sample. */
struct cpu_function {
    size_t frame; /* its hottest line */
    uint64_t self, total;
    size_t processes; /* in which it was seen */
    uint64_t last_process, last_stack;
};

/* A branch of the tree of calls. Its parent has a lower position than itself. */
struct cpu_node {
    size_t parent, frame; /* positions; of the root, the first node, they mean nothing */
    size_t depth;         /* 0: the root */
    uint64_t self, total;
    size_t processes;
    uint64_t last_process;
};

struct cpu_profile {
    struct process_list processes;
    uint64_t *process_samples; /* of the process at the same position */
    bool full;
    struct cpu_frame *frames;
    size_t frame_count, frame_room;
    struct cpu_function *functions;
    size_t function_count, function_room;
    struct cpu_node *nodes;
    size_t node_count, node_room;
    uint64_t samples;  /* in the tree: the root's total */
    uint64_t left_out; /* of Ray's own code */
    uint64_t stacks;   /* that were added */
    struct hash_index frame_index, function_index, node_index;
};

/* The records are borrowed. `full`: all frames of all threads. */
struct cpu_profile *cpu_profile_create(const struct why_records *records, bool full);
void cpu_profile_destroy(struct cpu_profile **profile);

/* Adds a process, with its folded stacks; or with `problem`, in py-spy's words or the agent's, if
 * there are none. Text of which a line is none of py-spy's is not added at all. */
void cpu_profile_add(struct cpu_profile *profile, const struct ray_worker *worker, const char *text,
                     const char *problem);

/* The functions, hottest first: by their own samples, then by all. The caller frees the array. */
const struct cpu_function **cpu_profile_hottest(const struct cpu_profile *profile);
/* "burn (app.py:40)", as py-spy writes a frame. */
void cpu_profile_frame(const struct cpu_frame *frame, struct buf *out);
/* The frames from the root's child to the node. Returns how many there are, its depth; `out` has
 * room for them. */
size_t cpu_profile_path(const struct cpu_profile *profile, size_t node,
                        const struct cpu_frame **out);

#endif
