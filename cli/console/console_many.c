/* Many tasks at one prompt: the selected one, the others, and verbs on groups of tasks. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/console/console_names.h"
#include "cli/console/console_parse.h"
#include "dap/message.h"
#include "relay/verbs/verb_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TURN_MS = 100,
    SILENCE_MS = 2000,
    ONE_BY_ONE = 3,        /* up to this many stops get a line each, more share one */
    QUIET_US = 1000000,    /* between two such announcements */
    GRACE_MS = 3000,       /* for tasks that were resumed with the selected one */
    LOCATIONS_ASKED = 256, /* with more tasks, the first line shows no locations */
    LABEL = sizeof(((struct console *)NULL)->label),
};

/* --- names and selection --- */

/* The printable names of all known threads; free them with free_names(). Sends a `threads` request
 * if `anew`, or if a name is missing. */
static char **thread_names(struct console *console, bool anew, int64_t **ids, size_t *count)
{
    const struct dap_client_thread *threads = dap_client_known(console->debuggee, count);
    struct err err;
    bool missing = anew;
    for (size_t i = 0; i < *count; i++)
        missing = missing || !threads[i].name;
    if (missing && dap_client_threads(console->debuggee, &threads, count, &err) != 0)
        threads = dap_client_known(console->debuggee, count);
    char **names = mem_array(*count + 1, sizeof *names);
    *ids = mem_array(*count + 1, sizeof **ids);
    for (size_t i = 0; i < *count; i++) {
        const char *name = threads[i].name ? threads[i].name : "?";
        names[i] = text_printable(name, strlen(name), "");
        (*ids)[i] = threads[i].id;
    }
    return names;
}

static void free_names(char **names, int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    free(ids);
}

static void label_of(struct console *console, int64_t id, char out[LABEL])
{
    int64_t *ids;
    size_t count, at = 0;
    char **names = thread_names(console, false, &ids, &count);
    while (at < count && ids[at] != id)
        at++;
    console_names_label(at < count ? names[at] : "?", (const char *const *)names, count, out,
                        LABEL);
    free_names(names, ids, count);
}

static size_t count_stopped(const struct console *console, size_t *total)
{
    const struct dap_client_thread *threads = dap_client_known(console->debuggee, total);
    size_t stopped = 0;
    for (size_t i = 0; i < *total; i++)
        stopped += threads[i].stopped;
    return stopped;
}

void many_name(struct console *console, int64_t id)
{
    label_of(console, id, console->label);
}

void many_prompt(struct console *console)
{
    char text[LABEL + 64];
    size_t total, stopped = count_stopped(console, &total);
    const struct dap_client_thread *it = dap_client_thread(console->debuggee, console->thread);
    if (console->options->prompt || console->interacting)
        return;
    if (it && !it->name)
        many_name(console, console->thread);
    snprintf(text, sizeof text, "%s (%zu/%zu)> ",
             console->thread ? console->label
             : total         ? "all run"
                             : "no task",
             stopped, total);
    if (text_equal(text, console->prompt))
        return;
    free(console->prompt);
    console->prompt = mem_string(text);
    input_set_prompt(console->input, text);
}

static int64_t any_stopped(const struct console *console)
{
    size_t count;
    const struct dap_client_thread *threads = dap_client_known(console->debuggee, &count);
    int64_t id = 0, number = 0;
    for (size_t i = 0; i < count; i++)
        if (threads[i].stopped && (!number || threads[i].number < number)) {
            id = threads[i].id;
            number = threads[i].number;
        }
    return id;
}

/* Selects another thread if the selected one runs or has ended without a command of this
 * console. */
static void find_another(struct console *console)
{
    const struct dap_client_thread *it = dap_client_thread(console->debuggee, console->thread);
    if (!console->thread || (it && it->stopped))
        return;
    console_note(console, "%s %s", console->label, it ? "runs" : "has ended");
    console->thread = 0;
    stack_clear(console);
    int64_t other = any_stopped(console);
    if (other)
        stop_show(console, other);
}

/* --- announcements --- */

static void announce_all(struct console *console, const int64_t *ids, size_t count)
{
    struct buf names = {0};
    char label[LABEL];
    if (count > ONE_BY_ONE) {
        for (size_t i = 0; i < ONE_BY_ONE; i++) {
            label_of(console, ids[i], label);
            buf_printf(&names, "%s%s", i ? ", " : "", label);
        }
        console_note(console, "%zu more stopped: %s, …; threads lists them", count, names.data);
        buf_free(&names);
        return;
    }
    for (size_t i = 0; i < count; i++)
        thread_announce(console, ids[i]);
}

void many_announce(struct console *console)
{
    const struct dap_client_thread *thread;
    int64_t *ids = NULL;
    size_t count = 0, total;
    struct err err;
    find_another(console);
    if (!dap_client_knows_all(console->debuggee))
        dap_client_threads(console->debuggee, &thread, &total, &err);
    if (loop_now_us() < console->quiet_until_us && console->thread)
        return;
    while ((thread = dap_client_next_stop(console->debuggee))) {
        if (thread->id == console->thread)
            continue;
        ids = mem_resize(ids, count + 1, sizeof *ids);
        ids[count++] = thread->id;
    }
    size_t shown = 0;
    if (count && !console->thread && !console->waiting_for)
        stop_show(console, ids[shown++]);
    if (count > shown) {
        announce_all(console, ids + shown, count - shown);
        console->quiet_until_us = loop_now_us() + QUIET_US;
    }
    free(ids);
}

/* --- waiting for one --- */

/* True if ^C or a signal ends the wait, with the result in `end`. ^C goes to another task if one is
 * stopped, else pauses this one; the second ^C leaves. */
static bool interrupted(struct console *console, int64_t thread, enum wait_end *end)
{
    *end = WAIT_LEFT;
    if (input_end_asked())
        return true;
    if (!input_interrupted())
        return false;
    if (console->interactive && any_stopped(console)) {
        *end = WAIT_AWAY;
        return true;
    }
    return !console->interactive || console->pausing || !run_ask_pause(console, thread);
}

static enum wait_end wait_for(struct console *console, int64_t thread)
{
    int64_t start = loop_now_us() / 1000;
    bool told = false;
    enum wait_end end;
    for (;;) {
        console->waiting_since_us = 0; /* waiting here is not a request */
        const struct dap_client_thread *it = dap_client_thread(console->debuggee, thread);
        if (it && it->stopped)
            return WAIT_STOPPED;
        if (dap_client_ended(console->debuggee))
            return WAIT_ENDED;
        if (!it)
            return WAIT_FINISHED;
        if (interrupted(console, thread, &end))
            return end;
        if (!told && loop_now_us() / 1000 - start >= SILENCE_MS) {
            told = true;
            console_note(console, "%s runs; ^C %s", console->label,
                         !console->interactive       ? "leaves"
                         : any_stopped(console) != 0 ? "goes to another task"
                                                     : "pauses it");
        }
        many_announce(console);
        loop_run_once(console->loop, TURN_MS);
    }
}

void many_until_stop(struct console *console, int64_t thread)
{
    console->waiting_for = thread;
    enum wait_end end = wait_for(console, thread);
    console->waiting_for = 0;
    console->pausing = false;
    console_flush_output(console);
    int64_t other = any_stopped(console);
    switch (end) {
    case WAIT_STOPPED:
        stop_show(console, thread);
        break;
    case WAIT_FINISHED:
    case WAIT_AWAY:
        console_note(console, "%s %s", console->label,
                     end == WAIT_FINISHED ? "has ended" : "runs on");
        if (other)
            stop_show(console, other);
        break;
    default:
        if (end == WAIT_ENDED)
            run_say_end(console);
        console->leaving = true;
        console->exit_code = end == WAIT_ENDED ? run_exit_code(console) : run_left_code(console);
        break;
    }
    if (!console->leaving)
        many_announce(console);
}

/* --- greeting --- */

/* A location in the code, and the number of tasks that stopped there. */
struct stop_location {
    char *text;
    size_t count;
};

static void count_location(struct stop_location **locations, size_t *count, char *text)
{
    for (size_t i = 0; i < *count; i++) {
        if (text_equal((*locations)[i].text, text)) {
            (*locations)[i].count++;
            free(text);
            return;
        }
    }
    *locations = mem_resize(*locations, *count + 1, sizeof **locations);
    (*locations)[(*count)++] = (struct stop_location){text, 1};
}

static int compare_locations(const void *a, const void *b)
{
    const struct stop_location *left = a, *right = b;
    return (left->count < right->count) - (left->count > right->count);
}

static void print_locations(struct console *console, struct buf *out)
{
    enum { SHOWN = 3 };
    size_t total, count = 0;
    const struct dap_client_thread *threads = dap_client_known(console->debuggee, &total);
    struct stop_location *locations = NULL;
    int64_t *ids = mem_array(total + 1, sizeof *ids);
    size_t stopped = 0;
    for (size_t i = 0; i < total; i++)
        if (threads[i].stopped)
            ids[stopped++] = threads[i].id;
    for (size_t i = 0; i < stopped && stopped <= LOCATIONS_ASKED; i++) {
        char *location = thread_location(console, ids[i]);
        count_location(&locations, &count, mem_string(location ? text_basename(location) : "?"));
        free(location);
    }
    if (count)
        qsort(locations, count, sizeof *locations, compare_locations);
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        if (count == 1)
            buf_printf(out, ", %sat %s", stopped > 1 ? "all " : "", locations[i].text);
        else
            buf_printf(out, "%s%zu at %s", i ? ", " : ": ", locations[i].count, locations[i].text);
    }
    if (count > SHOWN)
        buf_add_string(out, ", …");
    for (size_t i = 0; i < count; i++)
        free(locations[i].text);
    free(locations);
    free(ids);
}

void many_greet(struct console *console)
{
    const struct dap_client_thread *threads;
    size_t total;
    struct err err;
    struct buf out = {0};
    if (dap_client_threads(console->debuggee, &threads, &total, &err) != 0)
        return;
    size_t stopped = count_stopped(console, &total);
    console->greeted = true;
    if (!console->options->quiet) {
        bool all = text_equal(console->title, MANY_ALL);
        char *text = mem_format("%zu thread%s%s%s", total, total == 1 ? "" : "s", all ? "" : " of ",
                                all ? "" : console->title);
        console_format_tinted(&out, &console->style, TINT_BOLD, text);
        free(text);
        if (stopped < total)
            buf_printf(&out, ", %zu stopped", stopped);
        print_locations(console, &out);
        buf_add_string(&out, "\n");
        console_write(console, &out);
    }
    const struct dap_client_thread *first = dap_client_next_stop(console->debuggee);
    int64_t id = first ? first->id : any_stopped(console);
    while (dap_client_next_stop(console->debuggee)) /* the line above counts them */
        continue;
    if (id)
        stop_show(console, id);
}

/* --- verbs --- */

int many_select(struct console *console, const char *words)
{
    int64_t *ids;
    size_t count, matches;
    char **names = thread_names(console, true, &ids, &count);
    size_t index = console_names_find((const char *const *)names, count, words, &matches);
    int64_t id = matches ? ids[index] : 0;
    free_names(names, ids, count);
    const struct dap_client_thread *thread = dap_client_thread(console->debuggee, id);
    if (matches > 1)
        return console_error(console, "'%s' is %zu tasks: threads lists them", words, matches);
    if (!thread)
        return console_error(console, "there is no task '%s': threads lists them", words);
    if (!thread->stopped)
        return console_error(console, "%s is running", words);
    return stop_show(console, id);
}

static void let_go(struct console *console, struct json ids)
{
    struct json element;
    int64_t id;
    for (size_t cursor = 0; json_each(ids, &cursor, &element);)
        if (scan_integer(element.text, element.at, &id))
            dap_client_let_go(console->debuggee, id);
}

/* Sends the line to the session and prints the result: text, or JSON if the user chose it. */
static int ask_session(struct console *console, const char *line, enum group_line kind)
{
    struct buf arguments = {0}, out = {0};
    struct reply reply;
    struct err err;
    bool json = console->options->json && group_line_has_format(line);
    buf_add_string(&arguments, "{\"context\":\"repl\",\"expression\":");
    char *expression =
        mem_format("%s%s%s", *line == '/' ? "" : "/", line, json ? " --format json" : "");
    message_quote(&arguments, expression);
    buf_add_string(&arguments, "}");
    int result = dap_client_request(console->debuggee, "evaluate", arguments.data, &reply, &err);
    buf_free(&arguments);
    free(expression);
    if (result != 0)
        return console_fail(console, &err);
    char *text = json_string(reply.body, "result");
    if (!text_empty(text)) {
        char *clean = text_printable(text, strlen(text), "\n\t");
        buf_printf(&out, "%s%s", clean, text_ends(clean, "\n") ? "" : "\n");
        console_write(console, &out);
        free(clean);
    }
    free(text);
    if (kind == GROUP_MOVE)
        let_go(console, json_get(reply.body, "raydbg/threadIds"));
    reply_clear(&reply);
    return 0;
}

/* Waits until the tasks that were resumed with the selected one have stopped, too. Does not
 * announce these stops: the user expects them. */
static void await_others(struct console *console, size_t stopped)
{
    int64_t until = loop_now_us() / 1000 + GRACE_MS;
    size_t total, now;
    while (!console->leaving && !dap_client_ended(console->debuggee) &&
           count_stopped(console, &total) < stopped && loop_now_us() / 1000 < until)
        loop_run_once(console->loop, TURN_MS);
    while (dap_client_next_stop(console->debuggee))
        continue;
    now = count_stopped(console, &total);
    if (now < stopped && !console->leaving)
        console_note(console, "%zu of %zu tasks run", total - now, total);
    find_another(console);
}

/* If a verb has resumed the selected thread, waits for its next stop and shows it. */
static void settle(struct console *console)
{
    int64_t thread = console->thread;
    const struct dap_client_thread *it = dap_client_thread(console->debuggee, thread);
    if (!thread || (it && it->stopped))
        return;
    console->thread = 0;
    stack_clear(console);
    many_until_stop(console, thread);
}

/* After a barrier: shows where the selected thread has stopped. */
static void meet(struct console *console)
{
    const struct dap_client_thread *it = dap_client_thread(console->debuggee, console->thread);
    int64_t thread = console->thread;
    if (!thread || !it || !it->stopped)
        return;
    stack_clear(console);
    stop_show(console, thread);
}

int many_command(struct console *console, char *line)
{
    enum group_line kind = group_line_kind(line);
    if (kind == GROUP_FOCUS) {
        parse_word(&line);
        return many_select(console, parse_strip(line));
    }
    size_t total, stopped = count_stopped(console, &total);
    int result = ask_session(console, line, kind);
    if (result != 0 || kind == GROUP_LOOK)
        return result;
    if (kind == GROUP_MOVE)
        settle(console);
    await_others(console, stopped);
    if (kind == GROUP_MEET)
        meet(console);
    return 0;
}

/* --- help --- */

static bool is_ours(const struct verb_row *row)
{
    const struct console_verb *own = console_verb_find(row->name, strlen(row->name));
    return !own || !text_equal(own->name, row->name);
}

bool many_knows(const char *word)
{
    const struct verb_row *row = verb_row_find(*word == '/' ? word + 1 : word);
    return row && (*word == '/' || (text_equal(row->name, word) && is_ours(row)));
}

int many_help(struct console *console, const char *word)
{
    struct buf out = {0};
    if (!*word)
        buf_add_string(&out, "Of many tasks, with the \"/\" or without where no verb above is "
                             "called so; \"GROUP VERB\" is one:\n");
    verb_help(*word ? word : NULL, &out);
    console_write(console, &out);
    return 0;
}

void many_complete(const char *word, size_t len, struct candidates *out)
{
    for (size_t i = 0; i < VERB_ROWS; i++)
        if (is_ours(&verb_rows[i]) && strncmp(verb_rows[i].name, word, len) == 0)
            candidates_add(out, verb_rows[i].name);
}
