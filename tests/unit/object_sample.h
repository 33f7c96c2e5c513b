/* Sweeps for the tests of what is made of them: nodes, processes and references put together by
 * hand. */
#ifndef RAYDBG_TESTS_OBJECT_SAMPLE_H
#define RAYDBG_TESTS_OBJECT_SAMPLE_H

#include "sample_ids.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/sweep/object_sweep.h"

#include <stdio.h>
#include <string.h>

/* The object `index` of the task whose id is `two` repeated; "d" is the driver of job 01000000. */
static inline struct object_id sample_id(const char *two, unsigned index)
{
    struct object_id id;
    unsigned value = 0;
    if (text_equal(two, "d")) {
        memset(id.bytes, 0xFF, 20);
        memcpy(id.bytes + 20, (uint8_t[]){1, 0, 0, 0}, 4);
    } else {
        sscanf(two, "%2x", &value);
        memset(id.bytes, (int)value, ID_TASK_BYTES);
    }
    for (size_t i = 0; i < 4; i++)
        id.bytes[ID_TASK_BYTES + i] = (uint8_t)(index >> (8 * i));
    return id;
}

/* What the task has put. */
static inline struct object_id sample_put(const char *two, unsigned index)
{
    struct object_id id = sample_id(two, 100000000 + index);
    id.bytes[0] = 0; /* the attempt */
    return id;
}

static inline struct object_sweep *sample_sweep(size_t nodes)
{
    struct object_sweep *sweep = mem_alloc(sizeof *sweep);
    sweep->taken_ms = INT64_C(1700000000123);
    sweep->nodes = mem_array(nodes, sizeof *sweep->nodes);
    sweep->node_count = nodes;
    for (size_t i = 0; i < nodes; i++) {
        struct object_node *node = &sweep->nodes[i];
        snprintf(node->node_id, sizeof node->node_id, "%0*zx", 2 * ID_UNIQUE_BYTES, i + 1);
        node->ip = mem_format("10.0.0.%zu", i + 1);
        node->name = mem_format("node-%zu", i + 1);
        node->problem = mem_string("");
        node->asked = true;
    }
    return sweep;
}

static inline struct ray_worker_objects *sample_process(struct object_sweep *sweep, size_t node,
                                                        int64_t pid, enum ray_worker_type type)
{
    size_t count = sweep->process_count++;
    sweep->processes = mem_resize(sweep->processes, count + 1, sizeof *sweep->processes);
    struct ray_worker_objects *worker = mem_alloc(sizeof *worker);
    sweep->processes[count] = (struct object_process){
        .node = node,
        .worker = worker,
        .actor_class = mem_string(""),
        .actor_name = mem_string(""),
    };
    snprintf(worker->worker_id, sizeof worker->worker_id, "%0*zx", 2 * ID_UNIQUE_BYTES, count + 1);
    text_copy(worker->job_id, sizeof worker->job_id, "01000000");
    worker->ip = mem_string(sweep->nodes[node].ip);
    worker->port = 10001;
    worker->pid = pid;
    worker->type = type;
    worker->objects_total = worker->owned = -1;
    return worker;
}

/* Adds a reference, in the process's Python; change what it gives. */
static inline struct ray_object_ref *sample_ref(struct ray_worker_objects *worker,
                                                struct object_id id, int64_t size, int status)
{
    worker->refs = mem_resize(worker->refs, worker->ref_count + 1, sizeof *worker->refs);
    struct ray_object_ref *ref = &worker->refs[worker->ref_count++];
    *ref = (struct ray_object_ref){
        .id = id, .size = size, .status = (int8_t)status, .local = 1, .call_site = ""};
    return ref;
}

#endif
