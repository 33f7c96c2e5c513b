#include "relay/evidence/log_reader.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/text_numbers.h"
#include "proto/records.h"
#include "relay/evidence/log_moment.h"

#include <stdlib.h>
#include <string.h>

/* One file; a copy of what its source says. */
struct reading {
    struct log_reader *reader;
    struct ray_node node;
    size_t order; /* of the name that was given */
    char *file, *name, *only_behind, *prefix;
    const char *stream;
    int64_t start, end, died_ms;
    bool has_markers;
    size_t bytes;          /* that have been read */
    struct timer *cutting; /* more than `most_bytes` have been */
    int32_t asked;         /* the last lines for which the agent was asked; -1: all */
    bool is_more;          /* than it was asked for first */
    int less;              /* how often it was asked for less */
    struct log_lines lines;
    struct log_lines shorter; /* of its answer before, to a question for fewer lines */
    struct buf moment;        /* with `to_ms`: the end of the file */
    struct node_log *log;
};

struct log_reader {
    struct loop *loop;
    struct node_logs *logs;
    struct log_reader_options options;
    struct log_reader_calls calls;
    void *arg;
    struct reading **readings; /* in the order in which they are shown */
    size_t count, started, done;
    struct text_numbers known; /* files and globs that have been asked for */
    size_t lists;              /* that have not answered */
    struct timer *ending;
    struct err err; /* the first */
};

/* Of a file in which a moment is looked for. */
enum { MOMENT_LINES = 20000, MOMENT_BYTES = 8 << 20 };

struct log_reader *log_reader_create(struct loop *loop, struct node_logs *logs,
                                     const struct log_reader_options *options,
                                     const struct log_reader_calls *calls, void *arg)
{
    struct log_reader *reader = mem_alloc(sizeof *reader);
    *reader = (struct log_reader){
        .loop = loop, .logs = logs, .options = *options, .calls = *calls, .arg = arg};
    return reader;
}

static void reading_free(struct reading *reading)
{
    struct buf none = {0};
    node_log_cancel(&reading->log);
    timer_cancel(&reading->cutting);
    log_lines_end(&reading->lines, &none);
    log_lines_end(&reading->shorter, &none);
    buf_free(&none);
    buf_free(&reading->moment);
    free(reading->node.ip);
    free(reading->file);
    free(reading->name);
    free(reading->only_behind);
    free(reading->prefix);
    free(reading);
}

static void note_error(struct log_reader *reader, const struct err *err)
{
    if (err && !reader->err.code)
        reader->err = *err;
}

static void emit(struct log_reader *reader, struct buf *out)
{
    if (out->len)
        reader->calls.text(reader->arg, out->data, out->len);
    buf_free(out);
}

/* --- the end --- */

/* Shows the lines of all files that are of the moment. */
static void show_moment(struct log_reader *reader)
{
    struct log_moment *moment = log_moment_create(&reader->options);
    struct buf out = {0};
    for (size_t i = 0; i < reader->count; i++) {
        struct reading *it = reader->readings[i];
        log_moment_add(moment, it->prefix ? it->prefix : "", it->moment.data, it->moment.len,
                       it->died_ms);
    }
    log_moment_show(moment, &out);
    log_moment_free(&moment);
    emit(reader, &out);
}

static void tell_end(void *arg)
{
    struct log_reader *reader = arg;
    reader->ending = NULL;
    if (reader->options.to_ms)
        show_moment(reader);
    reader->calls.end(reader->arg, reader->err.code ? &reader->err : NULL);
}

static void start_next(struct log_reader *reader);

static void one_done(struct log_reader *reader)
{
    reader->done++;
    if (!reader->options.follow)
        start_next(reader);
}

/* --- reading --- */

/* Says that only the end of the file is shown, which may not be all that is wanted. */
static void add_notice(const struct reading *reading, bool is_cut, struct buf *out)
{
    if (is_cut || reading->less)
        buf_printf(out, "[lines from before these may be missing: %zu MiB have been read]\n",
                   reading->reader->options.most_bytes >> 20);
    else
        buf_add_string(out, "[lines from before these may be missing: the node gives no more]\n");
}

/* The file has been read, or as much of it as can be. Of an answer that is not whole the last lines
 * are missing: those of the one before are shown instead. */
static void finish(struct reading *reading, bool whole, bool is_cut)
{
    struct log_reader *reader = reading->reader;
    struct buf out = {0}, none = {0};
    bool takes_shorter = !whole && (reading->shorter.kept.len || reading->shorter.line.len);
    if (takes_shorter || (whole && reading->less))
        add_notice(reading, is_cut, &out);
    log_lines_end(&reading->shorter, takes_shorter ? &out : &none);
    log_lines_end(&reading->lines, takes_shorter ? &none : &out);
    if (is_cut && !takes_shorter)
        buf_printf(&out, "\n[the rest is not shown: the first %zu MiB have been read]\n",
                   reader->options.most_bytes >> 20);
    buf_free(&none);
    emit(reader, &out);
    one_done(reader);
}

static bool ask_for_less(struct reading *reading);

static void on_cut(void *arg)
{
    struct reading *reading = arg;
    reading->cutting = NULL;
    node_log_cancel(&reading->log);
    if (!ask_for_less(reading))
        finish(reading, false, true);
}

/* True if more has been read than may be. The reading, which is in a callback, ends from the loop.
 */
static bool is_too_much(struct reading *reading, size_t len)
{
    const struct log_reader *reader = reading->reader;
    reading->bytes += len;
    if (!reading->cutting && reader->options.most_bytes &&
        reading->bytes > reader->options.most_bytes)
        reading->cutting = timer_start(reader->loop, 0, on_cut, reading);
    return reading->cutting != NULL;
}

static void on_bytes(void *arg, const char *bytes, size_t len)
{
    struct reading *reading = arg;
    struct buf out = {0};
    if (is_too_much(reading, len))
        return;
    if (reading->reader->options.to_ms) {
        buf_add(&reading->moment, bytes, len);
        if (reading->moment.len > MOMENT_BYTES)
            buf_consume(&reading->moment, reading->moment.len - MOMENT_BYTES);
        return;
    }
    log_lines_add(&reading->lines, bytes, len, &out);
    emit(reading->reader, &out);
}

/* The agent counts Ray's markers as lines, and has no marker of what begins before its last lines.
 * A file that is followed has no last lines. */
static bool keeps_tail(const struct reading *reading)
{
    const struct log_reader_options *options = &reading->reader->options;
    return options->tail >= 0 && !options->to_ms && !options->follow &&
           (reading->only_behind || reading->has_markers);
}

static void on_end(void *arg, const struct err *err);

static void ask(struct reading *reading)
{
    static const struct agent_log_calls calls = {on_bytes, on_end};
    const struct log_reader_options *options = &reading->reader->options;
    reading->lines = (struct log_lines){.options = {
                                            .terminal = options->terminal,
                                            .prefix = reading->prefix,
                                            .grep = options->grep,
                                            .has_markers = reading->has_markers,
                                            .only_behind = reading->only_behind,
                                            .since_ms = options->since_ms,
                                            .tail = keeps_tail(reading) ? options->tail : 0,
                                        }};
    const struct agent_log_part part = {
        .file = reading->file,
        .lines = reading->asked,
        .start = reading->start,
        .end = reading->end,
        .follow = options->follow,
    };
    reading->log = node_logs_read(reading->reader->logs, &reading->node, &part, &calls, reading);
}

/* True if the lines that are wanted may begin before those that the agent has given: it has given
 * all that it was asked for, and not enough of them are left. */
static bool wants_more(const struct reading *reading)
{
    return keeps_tail(reading) && reading->asked >= 0 && !reading->less &&
           !log_lines_has_tail(&reading->lines) &&
           reading->lines.seen + 1 >= (size_t)reading->asked; /* the last one may have no end */
}

/* FACTOR: of one question's lines to the next one's. */
enum { FACTOR = 8, MOST_LESS = 2 };

/* A long file is read to its beginning only if no shorter part of it has what is wanted. */
static void ask_for_more(struct reading *reading)
{
    struct buf none = {0};
    log_lines_end(&reading->shorter, &none);
    buf_free(&none);
    reading->shorter = reading->lines;
    reading->is_more = true;
    reading->asked = reading->asked > INT32_MAX / FACTOR ? -1 : FACTOR * reading->asked;
    ask(reading);
}

/* The agent begins with the first of the lines that it is asked for: where these are too long to be
 * read, the last ones have not come. False if there is nothing less to ask for. */
static bool ask_for_less(struct reading *reading)
{
    struct buf none = {0};
    if (!keeps_tail(reading) || reading->is_more || reading->asked <= 1 ||
        reading->less == MOST_LESS)
        return false;
    log_lines_end(&reading->lines, &none);
    buf_free(&none);
    reading->less++;
    reading->bytes = 0;
    reading->asked = reading->asked > FACTOR ? reading->asked / FACTOR : 1;
    ask(reading);
    return true;
}

static void on_end(void *arg, const struct err *err)
{
    struct reading *reading = arg;
    reading->log = NULL;
    if (reading->cutting)
        return;
    note_error(reading->reader, err);
    if (!err && wants_more(reading))
        ask_for_more(reading);
    else
        finish(reading, !err, false);
}

/* "load out  ", or "out  "; a file of its own colour. */
static char *prefix_of(const struct log_reader *reader, const struct reading *reading, size_t index)
{
    static const char *const colours[] = {"36", "33", "35", "32", "34", "31"};
    const char *name = reader->options.names ? reading->name : "";
    char *printable = text_printable(name, strlen(name), "");
    char *text = mem_format("%s%s%s", printable, *printable ? " " : "", reading->stream);
    char *prefix = reader->options.colour
                       ? mem_format("\033[%sm%s\033[0m  ",
                                    colours[index % (sizeof colours / sizeof *colours)], text)
                       : mem_format("%s  ", text);
    free(printable);
    free(text);
    return prefix;
}

/* The last lines for which the agent is asked first; -1: all. */
static int32_t lines_of(const struct reading *reading)
{
    enum { MARKERS = 64 };
    const struct log_reader_options *options = &reading->reader->options;
    if (options->to_ms)
        return MOMENT_LINES;
    return keeps_tail(reading) ? 2 * options->tail + MARKERS : options->tail;
}

static void start(struct log_reader *reader, size_t index)
{
    struct reading *reading = reader->readings[index];
    if (reader->count > 1)
        reading->prefix = prefix_of(reader, reading, index);
    reading->asked = lines_of(reading);
    ask(reading);
}

static void start_next(struct log_reader *reader)
{
    if (reader->started < reader->count)
        start(reader, reader->started++);
    else if (reader->done == reader->count && !reader->lists && !reader->ending)
        reader->ending = timer_start(reader->loop, 0, tell_end, reader);
}

/* In the order of the names given; of one name, out before err. */
static int compare_readings(const void *left, const void *right)
{
    const struct reading *a = *(const struct reading *const *)left;
    const struct reading *b = *(const struct reading *const *)right;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    int order = strcmp(b->stream, a->stream);
    return order ? order : strcmp(a->file, b->file);
}

/* All lists have answered: starts what is new. */
static void start_new(struct log_reader *reader)
{
    if (reader->count > reader->started)
        qsort(reader->readings + reader->started, reader->count - reader->started, sizeof(void *),
              compare_readings);
    while (reader->options.follow && reader->started < reader->count)
        start(reader, reader->started++);
    if (!reader->options.follow)
        start_next(reader);
}

/* --- which files --- */

/* True if this is new. A file that is followed has all that its process writes, whatever part of it
 * was asked for first. */
static bool is_new(struct log_reader *reader, const struct log_source *source, size_t order,
                   const char *what)
{
    size_t before = reader->known.count;
    bool whole = reader->options.follow && source->process;
    char *key = whole ? mem_format("%zu %s %s", order, source->process, log_choice_stream(what))
                      : mem_format("%zu %s %s %lld", order, source->node->node_id, what,
                                   (long long)source->start);
    text_numbers_number(&reader->known, key);
    free(key);
    return reader->known.count > before;
}

static void add_file(struct log_reader *reader, const struct log_source *source, size_t order,
                     const char *file)
{
    const char *stream = source->stream ? source->stream : log_choice_stream(file);
    if ((reader->options.stream && !text_equal(stream, reader->options.stream)) ||
        !is_new(reader, source, order, file))
        return;
    struct reading *reading = mem_alloc(sizeof *reading);
    *reading = (struct reading){
        .reader = reader,
        .node = {.ip = mem_string(source->node->ip),
                 .agent_port = source->node->agent_port,
                 .is_alive = source->node->is_alive},
        .order = order,
        .file = mem_string(file),
        .name = mem_string(source->name),
        .only_behind = source->only_behind ? mem_string(source->only_behind) : NULL,
        .stream = stream,
        .start = source->start,
        .end = source->end,
        .died_ms = source->died_ms,
        .has_markers = source->has_markers,
    };
    text_copy(reading->node.node_id, sizeof reading->node.node_id, source->node->node_id);
    reader->readings = mem_resize(reader->readings, reader->count + 1, sizeof(struct reading *));
    reader->readings[reader->count++] = reading;
}

/* The list of one source's glob. */
struct listing {
    struct log_reader *reader;
    const struct log_source *source;
    size_t order;
};

static void on_list(void *arg, const struct err *err, char *const *names, size_t count)
{
    struct listing *listing = arg;
    struct log_reader *reader = listing->reader;
    size_t taken = 0;
    struct err none;
    for (size_t i = 0; i < count; i++) {
        if (!log_choice_takes(names[i]))
            continue;
        add_file(reader, listing->source, listing->order, names[i]);
        taken++;
    }
    if (!err && !taken) {
        const char *glob = listing->source->glob;
        err_set(&none, ERR_NOT_FOUND, "node %s has no file %s", listing->source->node->ip,
                text_starts(glob, "**/") ? glob + strlen("**/") : glob);
        err = &none;
    }
    note_error(reader, err);
    free(listing);
    if (--reader->lists == 0)
        start_new(reader);
}

static void add_source(struct log_reader *reader, const struct log_source *source, size_t order)
{
    if (source->file) {
        add_file(reader, source, order, source->file);
        return;
    }
    if (!is_new(reader, source, order, source->glob))
        return;
    struct listing *listing = mem_alloc(sizeof *listing);
    *listing = (struct listing){reader, source, order};
    reader->lists++;
    node_logs_list(reader->logs, source->node, source->glob, on_list, listing);
}

void log_reader_add(struct log_reader *reader, const struct log_choice *choices, size_t count)
{
    reader->lists++; /* not before all have been asked for */
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < choices[i].count; k++)
            add_source(reader, &choices[i].sources[k], i);
    if (--reader->lists == 0)
        start_new(reader);
}

bool log_reader_has_listed(const struct log_reader *reader)
{
    return reader->lists == 0;
}

void log_reader_destroy(struct log_reader **reader)
{
    struct log_reader *it = *reader;
    if (!it)
        return;
    *reader = NULL;
    timer_cancel(&it->ending);
    for (size_t i = 0; i < it->count; i++)
        reading_free(it->readings[i]);
    free(it->readings);
    text_numbers_free(&it->known);
    free(it);
}
