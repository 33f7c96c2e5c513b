#include "relay/python_stack/cpu_profile.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/python_stack/folded_stack.h"
#include "relay/python_stack/thread_frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct cpu_profile *cpu_profile_create(const struct why_records *records, bool full)
{
    struct cpu_profile *profile = mem_alloc(sizeof *profile);
    profile->processes.records = records;
    profile->full = full;
    profile->nodes = mem_grow(NULL, 0, &profile->node_room, sizeof *profile->nodes);
    profile->nodes[profile->node_count++] = (struct cpu_node){0};
    return profile;
}

void cpu_profile_destroy(struct cpu_profile **profile)
{
    struct cpu_profile *it = *profile;
    if (!it)
        return;
    *profile = NULL;
    for (size_t i = 0; i < it->frame_count; i++) {
        free(it->frames[i].function);
        free(it->frames[i].file);
    }
    free(it->frames);
    free(it->functions);
    free(it->nodes);
    free(it->process_samples);
    hash_index_clear(&it->frame_index);
    hash_index_clear(&it->function_index);
    hash_index_clear(&it->node_index);
    process_list_clear(&it->processes);
    free(it);
}

/* --- finding --- */

static bool is_same(const struct cpu_frame *frame, const char *function, const char *file)
{
    return text_equal(frame->function, function) && text_equal(frame->file, file);
}

/* The position of the function of the frame at `frame`. */
static size_t find_function(struct cpu_profile *profile, size_t frame, uint64_t hash)
{
    const struct cpu_frame *it = &profile->frames[frame];
    size_t cursor = 0;
    uintptr_t position;
    while (hash_index_next(&profile->function_index, hash, &cursor, &position))
        if (is_same(&profile->frames[profile->functions[position].frame], it->function, it->file))
            return position;
    profile->functions = mem_grow(profile->functions, profile->function_count,
                                  &profile->function_room, sizeof *profile->functions);
    profile->functions[profile->function_count] = (struct cpu_function){.frame = frame};
    hash_index_add(&profile->function_index, hash, profile->function_count);
    return profile->function_count++;
}

/* The position of the frame. `function` and `file` are the program's, and become printable. */
static size_t find_frame(struct cpu_profile *profile, const char *function, const char *file,
                         int64_t line)
{
    char *name = text_printable(function, strlen(function), "");
    char *path = text_printable(file, strlen(file), "");
    uint64_t function_hash = hash_text(path, hash_text(name, 1));
    uint64_t hash = function_hash ^ hash_number((uint64_t)line);
    size_t cursor = 0;
    uintptr_t position;
    while (hash_index_next(&profile->frame_index, hash, &cursor, &position)) {
        const struct cpu_frame *frame = &profile->frames[position];
        if (frame->line != line || !is_same(frame, name, path))
            continue;
        free(name);
        free(path);
        return position;
    }
    profile->frames = mem_grow(profile->frames, profile->frame_count, &profile->frame_room,
                               sizeof *profile->frames);
    position = profile->frame_count++;
    profile->frames[position] = (struct cpu_frame){.function = name, .file = path, .line = line};
    hash_index_add(&profile->frame_index, hash, position);
    profile->frames[position].function_position = find_function(profile, position, function_hash);
    return position;
}

static size_t find_node(struct cpu_profile *profile, size_t parent, size_t frame)
{
    uint64_t hash = hash_number(hash_number(parent) + frame);
    size_t cursor = 0;
    uintptr_t position;
    while (hash_index_next(&profile->node_index, hash, &cursor, &position))
        if (profile->nodes[position].parent == parent && profile->nodes[position].frame == frame)
            return position;
    profile->nodes =
        mem_grow(profile->nodes, profile->node_count, &profile->node_room, sizeof *profile->nodes);
    profile->nodes[profile->node_count] = (struct cpu_node){
        .parent = parent, .frame = frame, .depth = profile->nodes[parent].depth + 1};
    hash_index_add(&profile->node_index, hash, profile->node_count);
    return profile->node_count++;
}

/* --- adding --- */

/* The process that is being added, as a number that is not 0. */
static uint64_t this_process(const struct cpu_profile *profile)
{
    return profile->processes.count;
}

static void count_node(struct cpu_profile *profile, size_t position, uint64_t count)
{
    struct cpu_node *node = &profile->nodes[position];
    node->total += count;
    node->processes += node->last_process != this_process(profile);
    node->last_process = this_process(profile);
}

static void count_frame(struct cpu_profile *profile, size_t position, uint64_t count, bool is_leaf)
{
    struct cpu_frame *frame = &profile->frames[position];
    struct cpu_function *function = &profile->functions[frame->function_position];
    frame->self += is_leaf ? count : 0;
    function->self += is_leaf ? count : 0;
    if (frame->last_stack != profile->stacks)
        frame->total += count;
    frame->last_stack = profile->stacks;
    if (function->last_stack != profile->stacks)
        function->total += count;
    function->last_stack = profile->stacks;
    function->processes += function->last_process != this_process(profile);
    function->last_process = this_process(profile);
    const struct cpu_frame *hottest = &profile->frames[function->frame];
    if (frame->self > hottest->self ||
        (frame->self == hottest->self && frame->total > hottest->total))
        function->frame = position;
}

/* A frame below the node at `at`; returns its own node. */
static size_t add_frame(struct cpu_profile *profile, size_t at, const struct python_frame *frame,
                        uint64_t count, bool is_leaf)
{
    size_t position = find_frame(profile, frame->function, frame->file, frame->line);
    at = find_node(profile, at, position);
    count_node(profile, at, count);
    count_frame(profile, position, count, is_leaf);
    return at;
}

static void add_stack(struct cpu_profile *profile, const struct folded_stack *stack)
{
    const struct python_thread *thread = &stack->frames;
    struct thread_frames frames = thread_frames_of(thread);
    bool full = profile->full;
    const char *waits_in = full ? NULL : frames.waits_in;
    size_t at = 0, innermost = 0;
    if (!frames.has_users && !full) {
        profile->left_out += stack->count;
        return;
    }
    while (!full && thread_frames_is_folded(thread, &frames, innermost))
        innermost++; /* ends: there is a frame of the program's */
    profile->stacks++;
    count_node(profile, at, stack->count);
    for (size_t i = thread->count; i-- > innermost;)
        if (full || !thread_frames_is_folded(thread, &frames, i))
            at = add_frame(profile, at, &thread->frames[i], stack->count,
                           i == innermost && !waits_in);
    if (waits_in)
        at = add_frame(profile, at, &(struct python_frame){(char *)waits_in, (char *)"", 0},
                       stack->count, true);
    profile->nodes[at].self += stack->count;
    profile->samples += stack->count;
    profile->process_samples[profile->processes.count - 1] += stack->count;
}

void cpu_profile_add(struct cpu_profile *profile, const struct ray_worker *worker, const char *text,
                     const char *problem)
{
    struct process_item *process = process_list_add(&profile->processes, worker);
    size_t index = profile->processes.count - 1, len;
    uint64_t left_out = profile->left_out;
    struct folded_stack stack;
    profile->process_samples =
        mem_resize(profile->process_samples, index + 1, sizeof *profile->process_samples);
    profile->process_samples[index] = 0;
    process->is_read = text && folded_stack_is_text(text);
    if (!process->is_read) {
        process_list_fail(process, text ? "its profile is not one of py-spy's" : problem);
        return;
    }
    for (; *text; text += len) {
        len = folded_stack_read(text, &stack);
        if (stack.frames.count)
            add_stack(profile, &stack);
        folded_stack_clear(&stack);
    }
    if (profile->process_samples[index])
        return;
    if (profile->left_out > left_out)
        process->reason = "only Ray's own code ran in it (--full)";
    else
        process_list_fail(process, "No stack counts found"); /* as newer py-spys say */
}

/* --- reading --- */

static int compare_counts(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

static int compare_functions(const void *a, const void *b, void *arg)
{
    const struct cpu_profile *profile = arg;
    const struct cpu_function *one = *(const struct cpu_function *const *)a,
                              *two = *(const struct cpu_function *const *)b;
    int order = compare_counts(one->self, two->self);
    if (!order)
        order = compare_counts(one->total, two->total);
    if (!order)
        order = strcmp(profile->frames[one->frame].function, profile->frames[two->frame].function);
    return order ? order : one < two ? -1 : 1;
}

const struct cpu_function **cpu_profile_hottest(const struct cpu_profile *profile)
{
    size_t count = profile->function_count;
    const struct cpu_function **out = mem_array(count, sizeof(const struct cpu_function *));
    for (size_t i = 0; i < count; i++)
        out[i] = &profile->functions[i];
    qsort_r(out, count, sizeof(const struct cpu_function *), compare_functions, (void *)profile);
    return out;
}

void cpu_profile_frame(const struct cpu_frame *frame, struct buf *out)
{
    buf_add_string(out, frame->function);
    if (frame->line)
        buf_printf(out, " (%s:%" PRId64 ")", frame->file, frame->line);
    else if (*frame->file)
        buf_printf(out, " (%s)", frame->file);
}

size_t cpu_profile_path(const struct cpu_profile *profile, size_t node,
                        const struct cpu_frame **out)
{
    size_t depth = profile->nodes[node].depth;
    for (size_t i = depth; i-- > 0; node = profile->nodes[node].parent)
        out[i] = &profile->frames[profile->nodes[node].frame];
    return depth;
}
