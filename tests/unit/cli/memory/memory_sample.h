/* A small cluster whose references are known, for the tests of `raydbg memory`. */
#ifndef RAYDBG_TESTS_MEMORY_SAMPLE_H
#define RAYDBG_TESTS_MEMORY_SAMPLE_H

#include "object_sample.h"

#include <stdlib.h>

#include "cli/memory/memory_output.h"

#define PUT 100000001u
#define MEGA 1000000

/* Two nodes. The driver (pid 70, node-1) has put three objects of 2 MB at train.py:12, one of which
 * the actor Trainer (pid 60, node-2) has got as an argument, and one that only another object
 * holds; it has a result that is still to come. The actor keeps a thing that it has put. A worker
 * (pid 80) refers to an object whose owner is gone. */
static inline struct object_sweep *memory_sample(void)
{
    static const char train[] = "(put object)  | /usr/lib/python3/site-packages/ray/_private/"
                                "auto_init_hook.py:wrapper:22 | /app/train.py:main:12",
                      load[] = "(put object)  | /app/load.py:keep:7";
    struct object_sweep *sweep = sample_sweep(2);
    struct ray_worker_objects *driver = sample_process(sweep, 0, 70, RAY_DRIVER);
    struct ray_worker_objects *actor = sample_process(sweep, 1, 60, RAY_WORKER);
    struct ray_worker_objects *worker = sample_process(sweep, 1, 80, RAY_WORKER);
    text_copy(actor->actor_id, sizeof actor->actor_id, ACTOR_ID("e5"));
    free(sweep->processes[1].actor_class);
    sweep->processes[1].actor_class = mem_string("Trainer");
    for (unsigned i = 0; i < 3; i++)
        sample_ref(driver, sample_id("d", PUT + i), 2 * MEGA, RAY_TASK_FINISHED)->call_site = train;
    driver->refs[1].submitted = 1;
    driver->refs[2].local = 0;
    driver->refs[2].contained_in = 1;
    sample_ref(driver, sample_id("c3", 1), -1, 5)->call_site =
        "(task call)  | /app/train.py:main:20";
    struct ray_object_ref *argument =
        sample_ref(actor, sample_id("d", PUT + 1), 2 * MEGA - 6, RAY_TASK_NIL);
    argument->call_site = "(deserialize actor task arg) train.Trainer.step";
    argument->pinned = true;
    sample_ref(actor, sample_id("e5", PUT), 5 * MEGA, RAY_TASK_FINISHED)->call_site = load;
    sample_ref(worker, sample_id("b2", PUT), 300, RAY_TASK_NIL)->call_site = "<unknown>";
    sweep->nodes[0].store = (struct ray_store_stats){.used = 6 * MEGA,
                                                     .available = 100 * MEGA,
                                                     .primary_copies_bytes = 6 * MEGA,
                                                     .objects = 3,
                                                     .primary_copies = 3,
                                                     .spilled_bytes = 4 * MEGA,
                                                     .spilled_objects = 2,
                                                     .spill_seconds = 2};
    sweep->nodes[1].store = (struct ray_store_stats){.used = 7 * MEGA,
                                                     .available = 7 * MEGA,
                                                     .primary_copies_bytes = 5 * MEGA,
                                                     .objects = 2,
                                                     .primary_copies = 1,
                                                     .pulls_queued = true};
    object_sweep_join(sweep);
    return sweep;
}

/* As one with only one node, that answered nothing. */
static inline struct object_sweep *silent_sample(void)
{
    struct object_sweep *sweep = sample_sweep(1);
    free(sweep->nodes[0].problem);
    sweep->nodes[0].problem = mem_string("connection refused");
    sweep->nodes[0].asked = false;
    sweep->unanswered = 1;
    object_sweep_join(sweep);
    return sweep;
}

#endif
