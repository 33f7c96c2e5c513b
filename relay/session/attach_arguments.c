#include "relay/session/attach_arguments.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/debuggee/debugpy_arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong_type(struct err *err, const char *name, const char *expected)
{
    err_set(err, ERR_USAGE, "attach: \"%s\" must be %s", name, expected);
    return err_hint(err, "docs/editors.md lists the arguments");
}

static int read_text(char **out, const char *json, struct span value, const char *name,
                     struct err *err)
{
    free(*out);
    *out = scan_string(json, value);
    return *out ? 0 : wrong_type(err, name, "a string");
}

static int read_flag(bool *out, const char *json, struct span value, const char *name,
                     struct err *err)
{
    return scan_boolean(json, value, out) ? 0 : wrong_type(err, name, "true or false");
}

static int read_address(struct attach_arguments *out, const char *json, struct span value,
                        struct err *err)
{
    return read_text(&out->address, json, value, "address", err);
}

static int read_task(struct attach_arguments *out, const char *json, struct span value,
                     struct err *err)
{
    return read_text(&out->task, json, value, "task", err);
}

static int read_sub_process(struct attach_arguments *out, const char *json, struct span value,
                            struct err *err)
{
    return read_flag(&out->sub_process, json, value, "subProcess", err);
}

static int read_kill(struct attach_arguments *out, const char *json, struct span value,
                     struct err *err)
{
    return read_flag(&out->kill, json, value, "kill", err);
}

static int read_no_tune(struct attach_arguments *out, const char *json, struct span value,
                        struct err *err)
{
    return read_flag(&out->no_tune, json, value, "noTune", err);
}

static int read_token(struct attach_arguments *out, const char *json, struct span value,
                      struct err *err)
{
    return read_text(&out->token, json, value, "token", err);
}

static int read_take_over(struct attach_arguments *out, const char *json, struct span value,
                          struct err *err)
{
    return read_flag(&out->take_over, json, value, "takeOver", err);
}

/* Reads one of two words; *second is true for the second one. */
static int read_choice(bool *second, const char *json, struct span value, const char *name,
                       const char *const words[2], struct err *err)
{
    char expected[64];
    *second = scan_string_is(json, value, words[1]);
    if (*second || scan_string_is(json, value, words[0]))
        return 0;
    snprintf(expected, sizeof expected, "\"%s\" or \"%s\"", words[0], words[1]);
    return wrong_type(err, name, expected);
}

static int read_role(struct attach_arguments *out, const char *json, struct span value,
                     struct err *err)
{
    static const char *const roles[] = {"driver", "observer"};
    return read_choice(&out->observe, json, value, "role", roles, err);
}

static int read_on_disconnect(struct attach_arguments *out, const char *json, struct span value,
                              struct err *err)
{
    static const char *const ways[] = {"hold", "continue"};
    return read_choice(&out->continue_on_disconnect, json, value, "onDisconnect", ways, err);
}

static int read_end_with_task(struct attach_arguments *out, const char *json, struct span value,
                              struct err *err)
{
    return read_flag(&out->end_with_task, json, value, "endWithTask", err);
}

/* Reads a number of at least 1. Editors expand a variable to text, so "5678" counts, too. */
static bool read_number(int64_t *out, const char *json, struct span value, int64_t most)
{
    char *text = scan_string(json, value);
    bool good = text ? text_to_int(text, 1, most, out)
                     : scan_integer(json, value, out) && *out >= 1 && *out <= most;
    free(text);
    return good;
}

static int read_connect(struct attach_arguments *out, const char *json, struct span value,
                        struct err *err)
{
    char host[256];
    struct span member;
    int64_t port = 0;
    bool good = false;
    char *text = scan_string(json, value);
    free(out->connect_host);
    out->connect_host = NULL;
    if (text && text_split_host_port(text, host, sizeof host, &out->connect_port)) {
        out->connect_host = mem_string(host);
        good = true;
    } else if (!text && scan_find(json, value, "port", &member)) {
        good = read_number(&port, json, member, UINT16_MAX);
        out->connect_port = (uint16_t)port;
        out->connect_host = scan_find(json, value, "host", &member) ? scan_string(json, member)
                                                                    : mem_string("127.0.0.1");
        good = good && out->connect_host;
    }
    free(text);
    return good ? 0 : wrong_type(err, "connect", "\"HOST:PORT\" or {\"host\": …, \"port\": …}");
}

/* --- many tasks --- */

static int read_tasks(struct attach_arguments *out, const char *json, struct span value,
                      struct err *err)
{
    struct span element;
    size_t cursor = 0;
    bool good = json[value.at] == '[';
    char *text = good ? NULL : scan_string(json, value);
    if (text)
        pause_filter_add(&out->many, text);
    good = good || text;
    free(text);
    while (good && json[value.at] == '[' && scan_element(json, value, &cursor, &element)) {
        text = scan_string(json, element);
        good = !text_empty(text);
        if (good)
            pause_filter_add(&out->many, text);
        free(text);
    }
    return good && out->many.task_count
               ? 0
               : wrong_type(err, "tasks", "\"*\", a task, or a list of tasks");
}

static int read_job(struct attach_arguments *out, const char *json, struct span value,
                    struct err *err)
{
    return read_text(&out->many.job, json, value, "job", err);
}

static int read_actor(struct attach_arguments *out, const char *json, struct span value,
                      struct err *err)
{
    return read_text(&out->many.actor, json, value, "actor", err);
}

static int read_node(struct attach_arguments *out, const char *json, struct span value,
                     struct err *err)
{
    return read_text(&out->many.node, json, value, "node", err);
}

static int read_mode(struct attach_arguments *out, const char *json, struct span value,
                     struct err *err)
{
    static const char *const modes[] = {"threads", "sessions"};
    out->mode_named = true;
    return read_choice(&out->sessions, json, value, "mode", modes, err);
}

static int read_max_sessions(struct attach_arguments *out, const char *json, struct span value,
                             struct err *err)
{
    bool good = read_number(&out->max_sessions, json, value, INT64_MAX);
    return good ? 0 : wrong_type(err, "maxSessions", "a positive integer");
}

static int read_ticket(struct attach_arguments *out, const char *json, struct span value,
                       struct err *err)
{
    return read_text(&out->ticket, json, value, "ticket", err);
}

static int read_run(struct attach_arguments *out, const char *json, struct span value,
                    struct err *err)
{
    if (read_text(&out->run, json, value, "run", err) != 0)
        return -1;
    /* The relay has "" for processes whose run it does not know. */
    return *out->run ? 0 : wrong_type(err, "run", "the id of a run");
}

static int read_thread_name(struct attach_arguments *out, const char *json, struct span value,
                            struct err *err)
{
    return read_text(&out->thread_name, json, value, "threadName", err);
}

static int read_all_threads(struct attach_arguments *out, const char *json, struct span value,
                            struct err *err)
{
    return read_flag(&out->all_threads, json, value, "allThreads", err);
}

static int read_eager(struct attach_arguments *out, const char *json, struct span value,
                      struct err *err)
{
    return read_flag(&out->eager, json, value, "eager", err);
}

static int read_preserve_focus(struct attach_arguments *out, const char *json, struct span value,
                               struct err *err)
{
    return read_flag(&out->preserve_focus, json, value, "preserveFocus", err);
}

/* --- objectStore --- */

/* The index of a string in `words`; -1 if it is none of them. */
static int find_word(const char *json, struct span value, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (scan_string_is(json, value, words[i]))
            return (int)i;
    return -1;
}

static int read_annotate(struct attach_arguments *out, const char *json, struct span value,
                         struct err *err)
{
    static const char *const ways[] = {"auto", "off"};
    return read_choice(&out->objects.off, json, value, "objectStore.annotate", ways, err);
}

static int read_unit(struct attach_arguments *out, const char *json, struct span value,
                     struct err *err)
{
    static const char *const units[] = {[ANNOTATE_AUTO] = "auto",
                                        [ANNOTATE_B] = "B",
                                        [ANNOTATE_KB] = "KB",
                                        [ANNOTATE_MB] = "MB",
                                        [ANNOTATE_GB] = "GB"};
    int unit = find_word(json, value, units, sizeof units / sizeof *units);
    if (unit < 0)
        return wrong_type(err, "objectStore.unit", "\"auto\", \"B\", \"KB\", \"MB\" or \"GB\"");
    out->objects.unit = (enum annotate_unit)unit;
    return 0;
}

static int read_fields(struct attach_arguments *out, const char *json, struct span value,
                       struct err *err)
{
    static const char *const names[] = {"size", "owner", "state"};
    bool named[sizeof names / sizeof *names] = {false};
    struct span element;
    size_t cursor = 0;
    bool good = json[value.at] == '[';
    while (good && scan_element(json, value, &cursor, &element)) {
        int field = find_word(json, element, names, sizeof names / sizeof *names);
        good = field >= 0;
        if (good)
            named[field] = true;
    }
    out->objects.no_size = !named[0];
    out->objects.no_owner = !named[1];
    out->objects.no_state = !named[2];
    return good ? 0
                : wrong_type(err, "objectStore.fields",
                             "an array of \"size\", \"owner\" and \"state\"");
}

static int read_scope(struct attach_arguments *out, const char *json, struct span value,
                      struct err *err)
{
    bool scope = true;
    int rc = read_flag(&scope, json, value, "objectStore.scope", err);
    out->no_object_scope = !scope;
    return rc;
}

static int read_object_store(struct attach_arguments *out, const char *json, struct span value,
                             struct err *err)
{
    static const struct {
        const char *name;
        int (*read)(struct attach_arguments *out, const char *json, struct span value,
                    struct err *err);
    } members[] = {
        {"annotate", read_annotate},
        {"unit", read_unit},
        {"fields", read_fields},
        {"scope", read_scope},
    };
    struct span key, member;
    size_t cursor = 0;
    if (json[value.at] != '{')
        return wrong_type(err, "objectStore", "an object");
    while (scan_member(json, value, &cursor, &key, &member))
        for (size_t i = 0; i < sizeof members / sizeof *members; i++)
            if (scan_key_is(json, key, members[i].name) &&
                members[i].read(out, json, member, err) != 0)
                return -1;
    return 0;
}

/* VS Code's "Run Without Debugging": debugpy would refuse it, too. */
static int read_no_debug(struct attach_arguments *out, const char *json, struct span value,
                         struct err *err)
{
    bool no_debug = false;
    (void)out;
    if (read_flag(&no_debug, json, value, "noDebug", err) != 0)
        return -1;
    if (!no_debug)
        return 0;
    err_set(err, ERR_USAGE, "attach: \"noDebug\" is true, and an attach is for debugging only");
    return err_hint(err, "start the session with debugging (F5 in VS Code)");
}

/* Off whatever it is; debugpy does not judge its type either. */
static int read_just_my_code(struct attach_arguments *out, const char *json, struct span value,
                             struct err *err)
{
    (void)err;
    out->just_my_code = json[value.at] == 't';
    return 0;
}

static int ignore(struct attach_arguments *out, const char *json, struct span value,
                  struct err *err)
{
    (void)out, (void)json, (void)value, (void)err;
    return 0;
}

/* Members that debugpy does not get. The last ones would send the adapter to another process. */
static const struct own_member {
    const char *name;
    int (*read)(struct attach_arguments *out, const char *json, struct span value, struct err *err);
    bool chooses; /* left out of `each`: it says what to attach to, or who asks */
} own_members[] = {
    {"address", read_address, true},
    {"task", read_task, true},
    {"connect", read_connect, true},
    {"tasks", read_tasks, true},
    {"job", read_job, true},
    {"actor", read_actor, true},
    {"node", read_node, true},
    {"mode", read_mode, true},
    {"maxSessions", read_max_sessions, true},
    {"threadName", read_thread_name, true},
    {"allThreads", read_all_threads, true},
    {"eager", read_eager, true},
    {"preserveFocus", read_preserve_focus, true},
    {"ticket", read_ticket, true},
    {"run", read_run, true},
    {"token", read_token, true},
    {"subProcess", read_sub_process, false},
    {"kill", read_kill, false},
    {"noTune", read_no_tune, false},
    {"role", read_role, false},
    {"takeOver", read_take_over, false},
    {"onDisconnect", read_on_disconnect, false},
    {"endWithTask", read_end_with_task, false},
    {"objectStore", read_object_store, false},
    {"noDebug", read_no_debug, true},
    {"relay", ignore, true},
    {"justMyCode", read_just_my_code, true},
    {"host", ignore, true},
    {"port", ignore, true},
    {"listen", ignore, true},
    {"processId", ignore, true},
    {"subProcessId", ignore, true},
};

/* Arguments that are false unless the client sets them: a stop is of one thread, and a step moves
 * one thread. With debugpy's defaults a step lets every other thread that waits at a breakpoint()
 * run away, and on Python >= 3.12 such threads freeze half-way without any event. */
static const char *const defaults_off[] = {"steppingResumesAllThreads", "stopAllThreadsOnSuspend"};

static void add_defaults(struct buf *upstream, const char *json, struct span arguments)
{
    struct span value;
    for (size_t i = 0; i < sizeof defaults_off / sizeof *defaults_off; i++)
        if (!arguments.len || !scan_find(json, arguments, defaults_off[i], &value) ||
            json[value.at] == 'n')
            buf_printf(upstream, ",\"%s\":false", defaults_off[i]);
}

static const struct own_member *find_own(const char *json, struct span key)
{
    for (size_t i = 0; i < sizeof own_members / sizeof *own_members; i++)
        if (scan_key_is(json, key, own_members[i].name))
            return &own_members[i];
    return NULL;
}

static int add_each_member(struct attach_arguments *out, struct debugpy_arguments *lists,
                           const char *json, struct span arguments, struct err *err)
{
    size_t cursor = 0;
    struct span key, value;
    int rc = 0;
    while (rc == 0 && arguments.len && scan_member(json, arguments, &cursor, &key, &value)) {
        const struct own_member *own = find_own(json, key);
        rc = own ? own->read(out, json, value, err)
                 : debugpy_arguments_add(lists, json, key, value, err);
        if (own && !own->chooses)
            debugpy_arguments_append(&lists->each, json, key, value);
    }
    return rc;
}

void attach_arguments_default_task(struct attach_arguments *arguments, const char *task)
{
    if (!task || arguments->task || arguments->connect_host || arguments->many.task_count)
        return;
    arguments->task = mem_string(task);
    if (pause_filter_is_glob(task) || attach_arguments_many(arguments))
        pause_filter_add(&arguments->many, task);
}

bool attach_arguments_many(const struct attach_arguments *arguments)
{
    return !arguments->connect_host && !arguments->ticket &&
           (pause_filter_is_set(&arguments->many) || arguments->mode_named || arguments->run);
}

int attach_arguments_read(struct attach_arguments *out, const char *json, struct span arguments,
                          struct err *err)
{
    *out = (struct attach_arguments){0};
    struct debugpy_arguments lists = {0};
    int rc = 0;
    out->max_sessions = ATTACH_MAX_SESSIONS;
    if (arguments.len && json[arguments.at] != '{')
        rc = wrong_type(err, "arguments", "an object");
    buf_add_string(&lists.upstream, "{\"justMyCode\":false");
    if (rc == 0)
        add_defaults(&lists.upstream, json, arguments);
    if (rc == 0)
        rc = add_each_member(out, &lists, json, arguments, err);
    if (rc == 0 && out->run && out->sessions)
        rc = err_set(err, ERR_USAGE, "attach: \"run\" goes with \"mode\": \"threads\" only");
    buf_add_string(&lists.upstream, "}");
    buf_add_string(&lists.each, lists.each.len ? "}" : "{}");
    out->upstream = buf_take(&lists.upstream);
    out->each = buf_take(&lists.each);
    out->unknown = lists.unknown.len ? buf_take(&lists.unknown) : NULL;
    if (out->task && (pause_filter_is_glob(out->task) || attach_arguments_many(out)))
        pause_filter_add(&out->many, out->task);
    if (rc != 0)
        attach_arguments_clear(out);
    return rc;
}

void attach_arguments_clear(struct attach_arguments *arguments)
{
    free(arguments->address);
    free(arguments->task);
    free(arguments->connect_host);
    free(arguments->token);
    free(arguments->upstream);
    free(arguments->ticket);
    free(arguments->run);
    free(arguments->thread_name);
    free(arguments->each);
    free(arguments->unknown);
    pause_filter_clear(&arguments->many);
    *arguments = (struct attach_arguments){0};
}
