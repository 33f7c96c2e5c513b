#include "relay/verbs/stack_tree.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/stack/frame_location.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct frame_location frame; /* unset in the root */
    struct node *children, *next;
    struct task_set who; /* tasks whose stacks pass here */
    size_t ends;         /* stacks that end here */
};

struct skipped {
    size_t member;
    char *why;
};

struct stack_tree {
    bool full;
    struct task_list tasks;
    struct node root;
    struct task_set running; /* running tasks that have a stack */
    struct skipped *skipped;
    size_t skipped_count;
};

struct stack_tree *stack_tree_create(bool full)
{
    struct stack_tree *tree = mem_alloc(sizeof *tree);
    tree->full = full;
    return tree;
}

/* A stack may be some 1,000 frames deep: nodes are freed in a list, not by recursion. */
static void free_nodes(struct node *first)
{
    while (first) {
        struct node *node = first, *last = first;
        while (last->next)
            last = last->next;
        last->next = node->children;
        first = node->next;
        task_set_clear(&node->who);
        frame_location_clear(&node->frame);
        free(node);
    }
}

void stack_tree_destroy(struct stack_tree **tree)
{
    struct stack_tree *it = *tree;
    if (!it)
        return;
    free_nodes(it->root.children);
    task_set_clear(&it->root.who);
    task_set_clear(&it->running);
    for (size_t i = 0; i < it->skipped_count; i++)
        free(it->skipped[i].why);
    free(it->skipped);
    task_list_clear(&it->tasks);
    free(it);
    *tree = NULL;
}

/* --- frames --- */

static bool is_array(const char *json, struct span frames)
{
    return frames.len && json[frames.at] == '[';
}

/* Collects the frames to show, the outermost last. The caller frees `*out`. */
static size_t list_frames(const char *json, struct span frames, bool full, struct span **out)
{
    struct span frame;
    size_t cursor = 0, count = 0, room = 0;
    *out = NULL;
    while (scan_element(json, frames, &cursor, &frame)) {
        if (json[frame.at] != '{' || (!full && frame_location_is_subtle(json, frame)))
            continue;
        *out = mem_grow(*out, count, &room, sizeof **out);
        (*out)[count++] = frame;
    }
    return count;
}

/* --- the tree --- */

static bool same_frame(const struct frame_location *a, const struct frame_location *b)
{
    return a->line == b->line && text_equal(a->name, b->name) && text_equal(a->file, b->file);
}

/* Takes ownership of the frame. */
static struct node *descend(struct node *node, struct frame_location *frame)
{
    struct node **at = &node->children;
    while (*at && !same_frame(&(*at)->frame, frame))
        at = &(*at)->next;
    if (*at) {
        frame_location_clear(frame);
    } else {
        *at = mem_alloc(sizeof **at);
        (*at)->frame = *frame;
    }
    return *at;
}

void stack_tree_skip(struct stack_tree *tree, const struct task_list_item *who, const char *why)
{
    size_t member = task_list_add(&tree->tasks, who->thread, who->rank, who->name);
    tree->skipped = mem_resize(tree->skipped, tree->skipped_count + 1, sizeof *tree->skipped);
    tree->skipped[tree->skipped_count++] = (struct skipped){member, mem_string(why)};
}

bool stack_tree_add(struct stack_tree *tree, const struct task_list_item *who, bool running,
                    const char *json, struct span frames)
{
    struct span *list = NULL;
    size_t count = is_array(json, frames) ? list_frames(json, frames, tree->full, &list) : 0;
    if (count == 0 && is_array(json, frames))
        count = list_frames(json, frames, true, &list);
    if (count == 0) {
        stack_tree_skip(tree, who, "it has no stack");
        return false;
    }
    size_t member = task_list_add(&tree->tasks, who->thread, who->rank, who->name);
    struct node *node = &tree->root;
    task_set_add(&node->who, member);
    if (running)
        task_set_add(&tree->running, member);
    while (count) {
        struct frame_location frame;
        frame_location_read(json, list[--count], &frame);
        node = descend(node, &frame);
        task_set_add(&node->who, member);
    }
    node->ends++;
    free(list);
    return true;
}

static struct node *take_largest(struct node **list)
{
    struct node **best = list;
    for (struct node **at = list; *at; at = &(*at)->next)
        if ((*at)->who.count > (*best)->who.count)
            best = at;
    struct node *node = *best;
    *best = node->next;
    return node;
}

static void sort_children(const struct stack_tree *tree, struct node *node)
{
    struct node *left = node->children, **end = &node->children;
    while (left) {
        *end = take_largest(&left);
        task_set_sort(&tree->tasks, &(*end)->who);
        end = &(*end)->next;
    }
    *end = NULL;
}

/* A run of frames ends where the tasks' stacks part, or where one of them ends. */
static bool runs_on(const struct node *node)
{
    return node->children && !node->children->next && node->ends == 0;
}

static size_t count_stacks(const struct node *node)
{
    while (runs_on(node))
        node = node->children;
    size_t count = node->ends > 0;
    for (const struct node *child = node->children; child; child = child->next)
        count += count_stacks(child);
    return count;
}

/* --- text --- */

enum { NAMES = 6, COLUMN = 56 };

static size_t columns(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static bool has(const struct task_set *set, size_t member)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i] == member)
            return true;
    return false;
}

static void add_frame(const struct frame_location *frame, const char *lead, struct buf *out)
{
    const char *file = text_basename(frame->file);
    char *text = file ? mem_format("%s%s  %s:%" PRId64, lead, frame->name, file, frame->line)
                      : mem_format("%s%s", lead, frame->name);
    char *clean = text_printable(text, strlen(text), "");
    buf_add_string(out, clean);
    size_t width = columns(clean);
    buf_printf(out, "%*s", width < COLUMN ? (int)(COLUMN - width) : 1, "");
    free(clean);
    free(text);
}

/* Writes the tasks whose stacks end here, on the line of the run's last frame. */
static void add_ending(const struct stack_tree *tree, const struct node *node, struct buf *out)
{
    struct task_set here = {0};
    for (size_t i = 0; i < node->who.count; i++) {
        bool goes_on = false;
        for (const struct node *child = node->children; child; child = child->next)
            goes_on = goes_on || has(&child->who, node->who.items[i]);
        if (!goes_on)
            task_set_add(&here, node->who.items[i]);
    }
    buf_printf(out, "%5zu", node->who.count);
    if (here.count) {
        buf_add_string(out, "  ");
        if (node->children)
            buf_printf(out, "%zu here: ", here.count);
        task_set_text(&tree->tasks, &here, NAMES, out);
    }
    buf_add_string(out, "\n");
    task_set_clear(&here);
}

/* `lead` is written before the first frame of the run, `rest` before all lines that follow. */
static void add_run(const struct stack_tree *tree, struct node *node, const char *lead,
                    const char *rest, struct buf *out)
{
    for (;; node = node->children, lead = rest) {
        sort_children(tree, node);
        add_frame(&node->frame, lead, out);
        if (!runs_on(node))
            break;
        buf_printf(out, "%5zu\n", node->who.count);
    }
    add_ending(tree, node, out);
    for (struct node *child = node->children; child; child = child->next) {
        char *first = mem_format("%s%s", rest, child->next ? "├─ " : "└─ ");
        char *later = mem_format("%s%s", rest, child->next ? "│  " : "   ");
        add_run(tree, child, first, later, out);
        free(first);
        free(later);
    }
}

void stack_tree_text(struct stack_tree *tree, struct buf *out)
{
    size_t count = tree->root.who.count, stacks = count_stacks(&tree->root);
    buf_printf(out, "%zu task%s, %zu different stack%s\n", count, count == 1 ? "" : "s", stacks,
               stacks == 1 ? "" : "s");
    sort_children(tree, &tree->root);
    for (struct node *node = tree->root.children; node; node = node->next)
        add_run(tree, node, "  ", "  ", out);
    if (tree->running.count) {
        task_set_sort(&tree->tasks, &tree->running);
        buf_add_string(out, "  running: ");
        task_set_text(&tree->tasks, &tree->running, NAMES, out);
        buf_add_string(out, "\n");
    }
    for (size_t i = 0; i < tree->skipped_count; i++)
        buf_printf(out, "  not shown: %s (%s)\n", tree->tasks.items[tree->skipped[i].member].name,
                   tree->skipped[i].why);
}

/* --- JSON --- */

static void add_json_frame(const struct frame_location *frame, struct buf *out)
{
    buf_add_string(out, "{\"name\":");
    message_quote(out, frame->name);
    buf_add_string(out, ",\"path\":");
    if (frame->file)
        message_quote(out, frame->file);
    else
        buf_add_string(out, "null");
    buf_printf(out, ",\"line\":%" PRId64 "}", frame->line);
}

/* One object for a run of frames, so that the JSON nests by forks, not by frames. */
static void add_json_run(const struct stack_tree *tree, struct node *node, struct buf *out)
{
    struct buf who = {0};
    bool begun = false;
    buf_add_string(out, "{\"frames\":[");
    for (;; node = node->children, begun = true) {
        sort_children(tree, node);
        buf_add_string(out, begun ? "," : "");
        add_json_frame(&node->frame, out);
        if (!runs_on(node))
            break;
    }
    task_set_text(&tree->tasks, &node->who, NAMES, &who);
    buf_printf(out, "],\"count\":%zu,\"ending\":%zu,\"tasks\":", node->who.count, node->ends);
    message_quote(out, who.data);
    buf_add_string(out, ",\"threadIds\":");
    task_set_json(&tree->tasks, &node->who, out);
    buf_add_string(out, ",\"children\":[");
    for (struct node *child = node->children; child; child = child->next) {
        add_json_run(tree, child, out);
        buf_add_string(out, child->next ? "," : "");
    }
    buf_add_string(out, "]}");
    buf_free(&who);
}

void stack_tree_json(struct stack_tree *tree, struct buf *out)
{
    buf_printf(out, "{\"tasks\":%zu,\"stacks\":%zu,\"tree\":[", tree->root.who.count,
               count_stacks(&tree->root));
    sort_children(tree, &tree->root);
    for (struct node *node = tree->root.children; node; node = node->next) {
        add_json_run(tree, node, out);
        buf_add_string(out, node->next ? "," : "");
    }
    buf_add_string(out, "],\"running\":");
    task_set_json(&tree->tasks, &tree->running, out);
    buf_add_string(out, ",\"notShown\":[");
    for (size_t i = 0; i < tree->skipped_count; i++) {
        const struct task_list_item *who = &tree->tasks.items[tree->skipped[i].member];
        buf_printf(out, "%s{\"threadId\":%" PRId64 ",\"name\":", i ? "," : "", who->thread);
        message_quote(out, who->name);
        buf_add_string(out, ",\"why\":");
        message_quote(out, tree->skipped[i].why);
        buf_add_string(out, "}");
    }
    buf_add_string(out, "]}");
}
