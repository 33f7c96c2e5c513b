#include "cli/dap/launch_arguments.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <stdlib.h>
#include <string.h>

static const char *const consoles[] = {
    [LAUNCH_INTEGRATED] = "integratedTerminal",
    [LAUNCH_EXTERNAL] = "externalTerminal",
    [LAUNCH_INTERNAL] = "internalConsole",
};
enum { CONSOLES = sizeof consoles / sizeof *consoles };

static int wrong(struct err *err, const char *name, const char *expected)
{
    err_set(err, ERR_USAGE, "launch: \"%s\" must be %s", name, expected);
    return err_hint(err, "docs/run.md lists the arguments");
}

static void add_word(struct launch_arguments *out, char *word)
{
    out->command = mem_resize(out->command, out->count + 2, sizeof *out->command);
    out->command[out->count++] = word;
    out->command[out->count] = NULL;
}

/* Adds a string, or an array of strings. */
static int add_words(struct launch_arguments *out, const char *json, struct span value,
                     const char *name, struct err *err)
{
    struct span item;
    size_t cursor = 0;
    char *word = scan_string(json, value);
    if (word) {
        add_word(out, word);
        return 0;
    }
    if (json[value.at] != '[')
        return wrong(err, name, "a string or an array of strings");
    while (scan_element(json, value, &cursor, &item)) {
        if (!(word = scan_string(json, item)))
            return wrong(err, name, "a string or an array of strings");
        add_word(out, word);
    }
    return 0;
}

static int add_named(struct launch_arguments *out, const char *json, struct span arguments,
                     const char *name, struct err *err)
{
    struct span value;
    return scan_find(json, arguments, name, &value) ? add_words(out, json, value, name, err) : 0;
}

static int add_program(struct launch_arguments *out, const char *json, struct span arguments,
                       struct err *err)
{
    char *program = scan_string_at(json, arguments, "program");
    char *module = scan_string_at(json, arguments, "module");
    bool one = text_empty(program) != text_empty(module);
    if (!one) {
        free(program);
        free(module);
        err_set(err, ERR_USAGE, "launch: either \"program\" or \"module\" says what to run");
        return err_hint(err, "\"program\": \"train.py\"");
    }
    if (!text_empty(module))
        add_word(out, mem_string("-m"));
    const char *name = text_empty(module) ? program : module, *slash = strrchr(name, '/');
    out->title = mem_string(slash && slash[1] ? slash + 1 : name);
    add_word(out, mem_string(name));
    free(program);
    free(module);
    return 0;
}

static int read_env(struct launch_arguments *out, const char *json, struct span arguments,
                    struct err *err)
{
    struct span env, key, value;
    size_t cursor = 0;
    if (!scan_find(json, arguments, "env", &env))
        return 0;
    if (json[env.at] != '{')
        return wrong(err, "env", "an object");
    while (scan_member(json, env, &cursor, &key, &value))
        if (json[value.at] != '"' && json[value.at] != 'n')
            return wrong(err, "env", "an object of strings; null takes a variable away");
    out->env = mem_string_n(json + env.at, env.len);
    return 0;
}

static int read_console(struct launch_arguments *out, const char *json, struct span arguments,
                        struct err *err)
{
    struct span value;
    if (!scan_find(json, arguments, "console", &value))
        return 0;
    for (size_t i = 0; i < CONSOLES; i++) {
        if (scan_string_is(json, value, consoles[i])) {
            out->console = (enum launch_console)i;
            return 0;
        }
    }
    return wrong(err, "console", "integratedTerminal, externalTerminal or internalConsole");
}

static int read_flag(bool *out, const char *json, struct span arguments, const char *name,
                     struct err *err)
{
    struct span value;
    if (!scan_find(json, arguments, name, &value) || scan_boolean(json, value, out))
        return 0;
    return wrong(err, name, "true or false");
}

/* Without a debugger the program needs no raydbg. */
static int read_no_debug(const char *json, struct span arguments, struct err *err)
{
    bool no_debug = false;
    if (read_flag(&no_debug, json, arguments, "noDebug", err) != 0)
        return -1;
    if (!no_debug)
        return 0;
    err_set(err, ERR_USAGE, "launch: \"noDebug\" is true, and raydbg launches for debugging only");
    return err_hint(err, "start the session with debugging, or run the program in a terminal");
}

static int read_all(struct launch_arguments *out, const char *json, struct span arguments,
                    struct err *err)
{
    struct span cwd;
    if (!arguments.len || json[arguments.at] != '{')
        return wrong(err, "arguments", "an object");
    if (scan_find(json, arguments, "cwd", &cwd) && !(out->cwd = scan_string(json, cwd)))
        return wrong(err, "cwd", "a string");
    if (add_named(out, json, arguments, "python", err) != 0)
        return -1;
    if (out->count == 0)
        add_word(out, mem_string("python3"));
    if (add_program(out, json, arguments, err) != 0 ||
        add_named(out, json, arguments, "args", err) != 0 ||
        read_env(out, json, arguments, err) != 0 || read_no_debug(json, arguments, err) != 0 ||
        read_flag(&out->post_mortem, json, arguments, "postMortem", err) != 0)
        return -1;
    return read_console(out, json, arguments, err);
}

int launch_arguments_read(struct launch_arguments *out, const char *json, struct span arguments,
                          struct err *err)
{
    *out = (struct launch_arguments){0};
    if (read_all(out, json, arguments, err) == 0)
        return 0;
    launch_arguments_clear(out);
    return -1;
}

void launch_arguments_clear(struct launch_arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->command[i]);
    free(arguments->command);
    free(arguments->title);
    free(arguments->cwd);
    free(arguments->env);
    *arguments = (struct launch_arguments){0};
}

void launch_arguments_terminal(const struct launch_arguments *arguments, const char *raydbg,
                               const char *socket, const char *cwd, struct buf *out)
{
    const char *const words[] = {raydbg, "run", "--session", socket, "--"};
    buf_printf(out, "{\"kind\":\"%s\",\"title\":",
               arguments->console == LAUNCH_EXTERNAL ? "external" : "integrated");
    message_quote(out, arguments->title);
    buf_add_string(out, ",\"cwd\":");
    message_quote(out, arguments->cwd ? arguments->cwd : cwd);
    buf_add_string(out, ",\"args\":[");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        message_quote(out, words[i]);
        buf_add_string(out, ",");
    }
    for (size_t i = 0; i < arguments->count; i++) {
        buf_add_string(out, i ? "," : "");
        message_quote(out, arguments->command[i]);
    }
    buf_add_string(out, "]");
    if (arguments->env)
        buf_printf(out, ",\"env\":%s", arguments->env);
    buf_add_string(out, "}");
}

/* These stay out of the attach: they are the program's own, or would choose other tasks. */
static const char *const not_for_attach[] = {
    "program",     "module",  "args",    "cwd",    "env",   "python",     "console",
    "task",        "tasks",   "job",     "actor",  "node",  "mode",       "run",
    "maxSessions", "connect", "address", "ticket", "relay", "postMortem",
};

static bool is_for_attach(const char *json, struct span key)
{
    for (size_t i = 0; i < sizeof not_for_attach / sizeof *not_for_attach; i++)
        if (scan_key_is(json, key, not_for_attach[i]))
            return false;
    return true;
}

void launch_arguments_attach(const char *json, struct span arguments, const char *run,
                             struct buf *out)
{
    struct span key, value;
    size_t cursor = 0;
    buf_printf(out, "{\"tasks\":\"*\",\"run\":\"%s\"", run);
    while (scan_member(json, arguments, &cursor, &key, &value))
        if (is_for_attach(json, key))
            buf_printf(out, ",%.*s:%.*s", (int)key.len, json + key.at, (int)value.len,
                       json + value.at);
    buf_add_string(out, "}");
}
