/* `raydbg memory`: asks for one sweep, or two, and prints the result. */
#include "base/mem.h"
#include "base/text.h"
#include "cli/common/command_usage.h"
#include "cli/common/terminal.h"
#include "cli/memory/memory_diff.h"
#include "cli/memory/memory_export.h"
#include "cli/memory/memory_output.h"
#include "cli/memory/memory_request.h"
#include "cli/memory/memory_wait.h"
#include "cli/memory/memory_why_full.h"
#include "relay/sweep/sweep_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limits that fit on a screen. Without a terminal nothing is cut. */
enum { GROUPS_SHOWN = 10, ROWS_SHOWN = 10, LINES_SHOWN = 20 };

struct show {
    struct loop *loop;
    struct memory_source *source;
    struct memory_request *request;
    struct memory_style style;
    bool terminal; /* stdout is one */
    struct buf out, talk;
};

static size_t limit(const struct show *show, size_t fits)
{
    if (show->request->entries >= 0)
        return (size_t)show->request->entries;
    return show->terminal ? fits : SIZE_MAX;
}

static void put(FILE *stream, const struct buf *text)
{
    if (text->len)
        fwrite(text->data, 1, text->len, stream);
}

/* --- notes on stderr --- */

static void warn_of_nodes(struct show *show, const struct object_sweep *sweep)
{
    for (size_t i = 0; i < sweep->node_count; i++) {
        const struct object_node *node = &sweep->nodes[i];
        struct buf line = {0};
        if (node->asked)
            continue;
        buf_add_string(&line, "raydbg: node ");
        memory_node_name(node, &line);
        buf_printf(&line, " did not answer%s%s: what its processes refer to is missing",
                   text_empty(node->problem) ? "" : ": ", node->problem ? node->problem : "");
        char *clean = text_printable(line.data, line.len, "");
        buf_printf(&show->talk, "%s\n", clean);
        free(clean);
        buf_free(&line);
    }
}

static void say_how_to_get_call_sites(struct show *show, const struct object_sweep *sweep)
{
    if (sweep->row_count && !memory_has_call_sites(sweep))
        buf_add_string(&show->talk, "call sites were not recorded: start Ray (ray start, and the "
                                    "driver) with RAY_record_ref_creation_sites=1\n");
}

static void say_it_is_empty(struct show *show, const struct object_sweep *sweep,
                            const struct object_report *report)
{
    if (report->rows)
        return;
    if (sweep->row_count)
        buf_printf(&show->talk, "None of %zu references fits --filter or --task.\n",
                   sweep->row_count);
    else
        buf_printf(&show->talk, "No process refers to an object on %s (%zu node%s).\n",
                   memory_source_name(show->source), sweep->node_count,
                   sweep->node_count == 1 ? "" : "s");
}

/* --- one sweep --- */

static bool has_all_rows(const struct memory_request *request)
{
    return !request->query.filter && !request->query.task;
}

static void print_table(struct show *show, const struct object_sweep *sweep,
                        const struct object_report *report)
{
    const struct memory_request *request = show->request;
    memory_print_stores(sweep, &show->style, &show->out);
    if (request->grouped || request->locations) {
        memory_print_groups(report, sweep, &show->style, request->query.group_by,
                            limit(show, GROUPS_SHOWN), limit(show, ROWS_SHOWN), request->locations,
                            &show->out);
    } else if (report->rows) {
        struct memory_sites lines;
        memory_sites_make(&lines, sweep, report, request->query.sort_by);
        memory_print_lines(&lines, sweep, &show->style, limit(show, LINES_SHOWN), &show->out);
        memory_sites_clear(&lines);
    }
    if (report->rows)
        memory_print_totals(report, sweep, &show->style, has_all_rows(request), &show->out);
    say_it_is_empty(show, sweep, report);
    say_how_to_get_call_sites(show, sweep);
}

/* Prints the JSON, as such or as YAML. Frees it. */
static void print_json(struct show *show, struct buf *json)
{
    if (show->request->format == MEMORY_YAML)
        memory_yaml(json->data, json->len, &show->out);
    else
        buf_add(&show->out, json->data, json->len);
    buf_free(json);
}

static void print_sweep(struct show *show, const struct object_sweep *sweep)
{
    struct object_report *report = sweep_query_run(&show->request->query, sweep);
    struct buf json = {0};
    if (show->request->format == MEMORY_TABLE) {
        print_table(show, sweep, report);
    } else if (show->request->format == MEMORY_CSV) {
        memory_csv(report, sweep, &show->request->query, &show->out);
    } else {
        memory_json(report, sweep, &show->request->query, &json);
        print_json(show, &json);
    }
    object_report_free(&report);
}

static void print_stats(struct show *show, const struct object_sweep *sweep)
{
    struct buf json = {0};
    if (show->request->format == MEMORY_TABLE) {
        memory_print_stats(sweep, &show->style, &show->out);
    } else if (show->request->format == MEMORY_CSV) {
        memory_stats_csv(sweep, &show->out);
    } else {
        memory_stats_json(sweep, &json);
        print_json(show, &json);
    }
}

static void print_full(struct show *show, const struct object_sweep *sweep)
{
    struct object_report *report = sweep_query_run(&show->request->query, sweep);
    struct memory_why_full full;
    struct buf json = {0};
    memory_why_full_make(&full, sweep, report);
    if (show->request->format == MEMORY_TABLE) {
        memory_why_full_print(&full, &show->style, limit(show, GROUPS_SHOWN), &show->out);
        memory_print_totals(report, sweep, &show->style, has_all_rows(show->request), &show->out);
        say_how_to_get_call_sites(show, sweep);
    } else if (show->request->format == MEMORY_CSV) {
        memory_why_full_csv(&full, &show->out);
    } else {
        memory_why_full_json(&full, &json);
        print_json(show, &json);
    }
    memory_why_full_clear(&full);
    object_report_free(&report);
}

static int show_once(struct show *show)
{
    struct object_sweep *sweep = NULL;
    struct err err;
    if (memory_wait(show->loop, show->source, show->request, show->terminal, &sweep, &err) != 0)
        return command_fail(&err);
    warn_of_nodes(show, sweep);
    if (show->request->stats_only)
        print_stats(show, sweep);
    else if (show->request->why_full)
        print_full(show, sweep);
    else
        print_sweep(show, sweep);
    object_sweep_free(&sweep);
    return ERR_NONE;
}

/* --- two sweeps --- */

static void print_diff(struct show *show, const struct object_sweep *before,
                       const struct object_sweep *after)
{
    struct sweep_query query = show->request->query;
    struct memory_diff diff;
    struct buf json = {0};
    if (!show->request->grouped)
        query.group_by = memory_has_call_sites(before) || memory_has_call_sites(after)
                             ? OBJECT_BY_CALL_SITE
                             : OBJECT_BY_OWNER;
    memory_diff_make(&diff, &query, before, after);
    if (show->request->format == MEMORY_TABLE) {
        memory_diff_print(&diff, &show->style, limit(show, LINES_SHOWN), &show->out);
        say_how_to_get_call_sites(show, after);
    } else if (show->request->format == MEMORY_CSV) {
        memory_diff_csv(&diff, &show->out);
    } else {
        memory_diff_json(&diff, &json);
        print_json(show, &json);
    }
    memory_diff_clear(&diff);
}

static int show_diff(struct show *show)
{
    struct memory_request *request = show->request;
    struct object_sweep *before = NULL, *after = NULL;
    struct err err;
    int result = request->diff_ms
                     ? memory_wait(show->loop, show->source, request, false, &before, &err)
                     : memory_wait_file(request->diff, &before, &err);
    if (result == 0 && request->diff_ms)
        memory_wait_ms(show->loop, request->diff_ms);
    if (result == 0)
        result = memory_wait(show->loop, show->source, request, false, &after, &err);
    if (result == 0) {
        warn_of_nodes(show, before);
        warn_of_nodes(show, after);
        print_diff(show, before, after);
    }
    object_sweep_free(&before);
    object_sweep_free(&after);
    return result == 0 ? ERR_NONE : command_fail(&err);
}

int memory_show(struct loop *loop, struct memory_source *source, struct memory_request *request)
{
    struct show show = {
        .loop = loop, .source = source, .request = request, .terminal = isatty(STDOUT_FILENO)};
    show.style = (struct memory_style){
        .width = terminal_table_columns(stdout),
        .colour = terminal_colour(stdout),
        .utf8 = terminal_utf8(),
        .whole = !show.terminal,
        .units = request->units,
    };
    int code = request->diff ? show_diff(&show) : show_once(&show);
    put(stdout, &show.out);
    fflush(stdout);
    put(stderr, &show.talk);
    buf_free(&show.out);
    buf_free(&show.talk);
    return code;
}
