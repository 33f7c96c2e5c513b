/* What processes and all their descendants have used, from /proc. */
#ifndef RAYDBG_LOAD_PROC_TREE_H
#define RAYDBG_LOAD_PROC_TREE_H

#include <stddef.h>
#include <stdint.h>

struct proc_use {
    uint64_t cpu_ns; /* of the threads that live */
    size_t own; /* resident bytes, anonymous and shared memory; programs' files are not a process's
                   own */
    size_t shared;   /* the most of one process: the others map the same */
    size_t resident; /* all */
    size_t peak;     /* of `resident`, since the last reset or the start */
    unsigned processes;
};

struct proc_use proc_tree_use(const int *pids, size_t count);
void proc_tree_reset_peak(const int *pids, size_t count);

#endif
