#include "cli/pauses/list_output.h"

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/wall_clock.h"
#include "cli/common/terminal.h"
#include "cli/pauses/pause_table.h"

#include <stdio.h>

bool list_put(FILE *stream, const struct buf *text)
{
    return text->len == 0 ||
           (fwrite(text->data, 1, text->len, stream) == text->len && fflush(stream) == 0);
}

static size_t count_nodes(const struct pause_list *list)
{
    struct hash_index seen = {0};
    for (size_t i = 0; i < list->count; i++) {
        uint64_t node = hash_text(list->items[i].node_id, 0);
        size_t cursor = 0;
        uintptr_t any;
        if (!hash_index_next(&seen, node, &cursor, &any))
            hash_index_add(&seen, node, 0);
    }
    size_t nodes = seen.count;
    hash_index_clear(&seen);
    return nodes;
}

static void add_cluster(const struct pause_source *origin, struct buf *out)
{
    const struct cluster_facts *facts = pause_source_facts(origin);
    buf_add_string(out, pause_source_cluster(origin));
    if (facts->ray_version[0])
        buf_printf(out, " (Ray %s)", facts->ray_version);
}

/* Appends the command for the first row that is not idle. */
static void add_attach_hint(const struct pause_list *all, const struct pause_list *shown,
                            struct buf *out)
{
    char id[ID_TEXT(ID_UNIQUE_BYTES)];
    size_t index = 0, row = 0;
    while (row < shown->count && shown->items[row].state == PAUSE_IDLE)
        row++;
    if (row == shown->count)
        return;
    while (index < all->count && !pause_same(&all->items[index], &shown->items[row]))
        index++;
    const struct pause *pause = &shown->items[row];
    pause_short_id(all, index, id);
    if (*id)
        buf_printf(out, "attach: raydbg attach %s\n", id);
    else if (pause->node_ip) /* a driver has no id */
        buf_printf(out, "attach: raydbg attach %lld@%s\n", (long long)pause->pid, pause->node_ip);
}

static void add_relay(const struct pause_source *origin, struct buf *out)
{
    const struct pause_list *all = pause_source_pauses(origin);
    size_t held = 0;
    if (!pause_source_relay(origin))
        return;
    for (size_t i = 0; i < all->count; i++)
        held += all->items[i].state == PAUSE_HELD;
    buf_printf(out, "%s relay %s holds %zu", terminal_utf8() ? " \u00b7" : ",",
               pause_source_relay(origin), held);
}

static void add_footer(const struct pause_source *origin, const struct pause_list *shown,
                       struct buf *out)
{
    size_t nodes = count_nodes(shown);
    buf_printf(out, "%zu on %zu node%s of cluster ", shown->count, nodes, nodes == 1 ? "" : "s");
    add_cluster(origin, out);
    add_relay(origin, out);
    buf_add_string(out, "\n");
    add_attach_hint(pause_source_pauses(origin), shown, out);
}

/* Appends the text for an empty list, with hints. */
static void add_empty(const struct pause_source *origin, const struct list_request *request,
                      struct buf *out)
{
    const struct cluster_facts *facts = pause_source_facts(origin);
    const struct pause_select *select = &request->select;
    size_t others = pause_source_pauses(origin)->count;
    bool filtered = select->job || select->node || select->actor || select->has_state;
    buf_printf(out, "No task is paused on ");
    add_cluster(origin, out);
    buf_printf(out, ", %zu node%s, %zu worker%s", facts->nodes_alive,
               facts->nodes_alive == 1 ? "" : "s", facts->workers_alive,
               facts->workers_alive == 1 ? "" : "s");
    add_relay(origin, out);
    buf_add_string(out, ".\n");
    if (filtered && others)
        buf_printf(out, "%zu worker%s with an open debugger did not fit the filters.\n", others,
                   others == 1 ? "" : "s");
    else
        buf_add_string(out, "A breakpoint() that does not show up here: is debugpy installed on "
                            "the workers, and RAY_DEBUG unset or 1?  raydbg doctor\n");
}

static void add_table(const struct pause_source *origin, const struct pause_list *shown,
                      struct buf *out)
{
    struct table_style style = {
        .width = terminal_table_columns(stdout),
        .colour = terminal_colour(stdout),
        .utf8 = terminal_utf8(),
        .now_ms = wall_clock_ms(),
    };
    pauses_table(shown, pause_source_pauses(origin), &style, out);
}

void list_print(const struct pause_source *origin, const struct list_request *request)
{
    struct pause_list shown;
    struct buf out = {0}, talk = {0};
    pause_select_apply(&request->select, pause_source_pauses(origin), &shown);
    if (request->format == LIST_JSON)
        pauses_json(&shown, &out);
    else if (request->format == LIST_YAML)
        pauses_yaml(&shown, &out);
    else if (shown.count)
        add_table(origin, &shown, &out);
    if (shown.count == 0)
        add_empty(origin, request, &talk);
    else if (request->format == LIST_TABLE)
        add_footer(origin, &shown, &out);
    list_put(stdout, &out);
    list_put(stderr, &talk);
    buf_free(&out);
    buf_free(&talk);
    pause_list_clear(&shown);
}

void list_screen(const struct pause_source *origin, const struct list_request *request,
                 const struct pause_list *shown, struct buf *out)
{
    if (shown->count) {
        add_table(origin, shown, out);
        add_footer(origin, shown, out);
    } else {
        add_empty(origin, request, out);
    }
}
