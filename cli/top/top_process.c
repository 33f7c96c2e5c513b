#include "cli/top/top_process.h"

#include "base/mem.h"

char *top_process_name(const struct object_sweep *sweep, int32_t process)
{
    if (process < 0)
        return mem_string("unknown");
    const struct object_process *it = &sweep->processes[process];
    return mem_format("pid %lld on %s", (long long)it->worker->pid, sweep->nodes[it->node].name);
}

const char *top_process_type(const struct object_process *process)
{
    static const char *const names[] = {
        [RAY_WORKER] = "Worker",
        [RAY_DRIVER] = "Driver",
        [RAY_SPILL_WORKER] = "Spill worker",
        [RAY_RESTORE_WORKER] = "Restore worker",
    };
    unsigned type = (unsigned)process->worker->type;
    return type < sizeof names / sizeof *names ? names[type] : "?";
}
