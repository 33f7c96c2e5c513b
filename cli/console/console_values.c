/* Values: evaluates in the selected frame, or lists a scope. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/console/console_parse.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* debugpy cuts a value at 64 Ki characters, and keeps its two ends. */
enum { SHOWN_CHARACTERS = 2000, WORKER_CUTS_AT = 65536, ASIDE_TIMEOUT_MS = 5000 };

/* `frame` may be NULL. */
static char *evaluate_arguments(const struct stack_frame *frame, const char *expression,
                                const char *context, bool raw)
{
    struct buf out = {0};
    buf_add_string(&out, "{\"expression\":");
    message_quote(&out, expression);
    if (frame)
        buf_printf(&out, ",\"frameId\":%" PRId64, frame->id);
    if (raw)
        buf_add_string(&out, ",\"format\":{\"rawString\":true}");
    buf_printf(&out, ",\"context\":\"%s\"}", context);
    return buf_take(&out);
}

int value_evaluate(struct console *console, const char *expression, const char *context, bool raw,
                   struct reply *reply, struct err *err)
{
    char *arguments = evaluate_arguments(stack_selected(console), expression, context, raw);
    int result = dap_client_request(console->debuggee, "evaluate", arguments, reply, err);
    free(arguments);
    return result;
}

static char *text_in(struct console *console, const struct stack_frame *frame,
                     const char *expression)
{
    struct reply reply;
    struct err err;
    char *arguments = evaluate_arguments(frame, expression, "watch", true);
    int result = dap_client_request_within(console->debuggee, "evaluate", arguments,
                                           ASIDE_TIMEOUT_MS, &reply, &err);
    char *text = result == 0 ? json_string(reply.body, "result") : NULL;
    free(arguments);
    reply_clear(&reply);
    return text;
}

char *value_text(struct console *console, const char *expression)
{
    return text_in(console, stack_selected(console), expression);
}

char *value_of_process(struct console *console, const char *expression)
{
    return text_in(console, NULL, expression);
}

/* --- one value --- */

static int show(struct console *console, const char *expression, const char *context, bool raw,
                size_t limit, const char *how)
{
    struct reply reply;
    struct err err;
    if (value_evaluate(console, expression, context, raw, &reply, &err) != 0)
        return console_fail(console, &err);
    char *text = json_string(reply.body, "result");
    if (!text_empty(text)) {
        struct buf out = {0};
        bool partial = !raw && strlen(text) >= WORKER_CUTS_AT;
        console_format_value(&out, &console->style, text, limit, partial, how);
        console_write(console, &out);
    }
    free(text);
    reply_clear(&reply);
    return 0;
}

/* The line end lets the expression end in a comment. */
static int show_by(struct console *console, const char *before, const char *expression,
                   const char *after)
{
    char *wrapped = mem_format("%s(%s\n)%s", before, expression, after);
    int result = show(console, wrapped, "watch", true, 0, "");
    free(wrapped);
    return result;
}

/* Python for "LENGTH REPR", where REPR is cut to what is shown. A value that holds object
 * references is returned as it is, so that the session annotates it. */
static char *repr_of(const char *expression)
{
    return mem_format("(lambda v:(lambda r:v if not isinstance(v,str) and ('ObjectRef(' in r or "
                      "'Actor(' in r) else '%%d %%s'%%(len(r),r[:%d]))(repr(v)))((%s\n))",
                      SHOWN_CHARACTERS, expression);
}

static void print_repr(struct console *console, const char *text, size_t digits, const char *how)
{
    int64_t len = 0;
    char *number = mem_string_n(text, digits);
    text_to_int(number, 0, INT64_MAX, &len);
    free(number);
    struct buf out = {0};
    console_format_value_of(&out, &console->style, text + digits + 1, (size_t)len, how);
    console_write(console, &out);
}

/* pdb's p: the value's whole repr(), up to a limit that keeps the terminal usable. */
static int show_repr(struct console *console, const char *expression, const char *how)
{
    struct reply reply;
    struct err err;
    char *wrapped = repr_of(expression);
    int result = value_evaluate(console, wrapped, "watch", true, &reply, &err);
    free(wrapped);
    if (result != 0)
        return console_fail(console, &err);
    char *text = json_string(reply.body, "result");
    size_t digits = text ? strspn(text, "0123456789") : 0;
    if (digits && text[digits] == ' ' && json_string_is(reply.body, "type", "str")) {
        print_repr(console, text, digits, how);
    } else if (!text_empty(text)) {
        struct buf out = {0};
        console_format_value(&out, &console->style, text, SHOWN_CHARACTERS, false, how);
        console_write(console, &out);
    }
    free(text);
    reply_clear(&reply);
    return 0;
}

int console_verb_print(struct console *console, char *argument)
{
    bool all = text_starts(argument, "--all ");
    if (all)
        argument = parse_strip(argument + strlen("--all "));
    if (!*argument)
        return console_error(console, "p: what? an expression");
    if (all)
        return show_by(console, "repr(", argument, ")");
    char *clean = text_printable(argument, strlen(argument), "");
    char *how = mem_format("p --all %s", clean);
    int result = show_repr(console, argument, how);
    free(clean);
    free(how);
    return result;
}

int console_verb_pretty(struct console *console, char *argument)
{
    if (!*argument)
        return console_error(console, "pp: what? an expression");
    char *after =
        mem_format(",width=%d)", console->style.columns > 20 ? console->style.columns : 80);
    int result = show_by(console, "__import__('pprint').pformat(", argument, after);
    free(after);
    return result;
}

int console_verb_python(struct console *console, char *argument)
{
    char *clean = text_printable(argument, strlen(argument), "");
    char *how = mem_format("p --all %s", clean);
    int result = show(console, argument, "repl", false, SHOWN_CHARACTERS, how);
    free(clean);
    free(how);
    return result;
}

int console_verb_whatis(struct console *console, char *argument)
{
    if (!*argument)
        return console_error(console, "whatis: what? an expression");
    return show_by(console, "repr(type(", argument, "))");
}

/* Unwraps functions and classes that `ray.remote` has wrapped. */
int console_verb_source(struct console *console, char *argument)
{
    static const char before[] =
        "(lambda o:(lambda i,s:''.join('%5d  %s'%(s[1]+n,l) for n,l in enumerate(s[0])))"
        "(0,__import__('inspect').getsourcelines(getattr(o,'_function',None) or getattr("
        "getattr(o,'__ray_metadata__',None),'modified_class',o))))(";
    if (!*argument)
        return console_error(console, "source: of what? a function, class or module");
    return show_by(console, before, argument, ")");
}

/* --- lists --- */

struct variable {
    char *name;
    char *value;
    char *type;
};

struct variables {
    struct variable *items;
    size_t count;
};

static void variables_clear(struct variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        free(variables->items[i].name);
        free(variables->items[i].value);
        free(variables->items[i].type);
    }
    free(variables->items);
    *variables = (struct variables){0};
}

/* pydevd's groups that users rarely look at, and the return value of breakpoint() itself. */
static bool is_group(const char *name)
{
    static const char *const groups[] = {"special variables", "function variables",
                                         "class variables", "protected variables",
                                         "(return) set_trace"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (text_equal(name, groups[i]))
            return true;
    return false;
}

static void read_variables(struct json list, struct variables *out)
{
    struct json element;
    size_t cursor = 0, count = 0;
    while (json_each(list, &cursor, &element))
        count++;
    out->items = mem_array(count + 1, sizeof *out->items);
    for (cursor = 0; json_each(list, &cursor, &element);) {
        struct variable variable = {
            .name = json_string(element, "name"),
            .value = json_string(element, "value"),
            .type = json_string(element, "type"),
        };
        if (variable.name && !is_group(variable.name)) {
            out->items[out->count++] = variable;
        } else {
            free(variable.name);
            free(variable.value);
            free(variable.type);
        }
    }
}

int value_scope(struct console *console, const char *name, int64_t *reference, struct err *err)
{
    char arguments[64];
    struct reply reply;
    struct json scope;
    size_t cursor = 0;
    *reference = 0;
    snprintf(arguments, sizeof arguments, "{\"frameId\":%" PRId64 "}", stack_selected(console)->id);
    if (dap_client_request(console->debuggee, "scopes", arguments, &reply, err) != 0)
        return -1;
    while (!*reference && json_each(json_get(reply.body, "scopes"), &cursor, &scope))
        if (json_string_is(scope, "name", name))
            *reference = json_integer(scope, "variablesReference", 0);
    reply_clear(&reply);
    return *reference ? 0 : err_set(err, ERR_FAILED, "this frame has no %s", name);
}

/* The variables of a scope of the selected frame. */
static int load_scope(struct console *console, const char *name, struct variables *out,
                      struct err *err)
{
    char arguments[64];
    struct reply reply;
    int64_t reference;
    *out = (struct variables){0};
    if (value_scope(console, name, &reference, err) != 0)
        return -1;
    snprintf(arguments, sizeof arguments, "{\"variablesReference\":%" PRId64 "}", reference);
    if (dap_client_request(console->debuggee, "variables", arguments, &reply, err) != 0)
        return -1;
    read_variables(json_get(reply.body, "variables"), out);
    reply_clear(&reply);
    return 0;
}

/* Returns true if the value was cut. */
static bool print_variable(struct console *console, const struct variable *variable, int width)
{
    const char *raw_value = variable->value ? variable->value : "";
    const char *raw_type = variable->type ? variable->type : "";
    char *name = text_printable(variable->name, strlen(variable->name), "");
    char *type = text_printable(raw_type, strlen(raw_type), "");
    char *value = mem_string(raw_value);
    int used = (int)console_format_characters(name, strlen(name));
    int room = console->style.columns - 8 - (used > width ? used : width) - (int)strlen(type);
    struct buf out = {0};
    console_format_flatten(value);
    buf_add_string(&out, "  ");
    console_format_tinted(&out, &console->style, TINT_MARK, name);
    buf_printf(&out, "%*s  ", used < width ? width - used : 0, "");
    bool cut = console_format_one_line(&out, &console->style, value, room > 20 ? room : 20);
    if (*type) {
        console_format_tint(&out, &console->style, TINT_DIM);
        buf_printf(&out, "%s%s", console_format_dot(&console->style), type);
        console_format_tint(&out, &console->style, TINT_PLAIN);
    }
    buf_add_string(&out, "\n");
    console_write(console, &out);
    free(name);
    free(type);
    free(value);
    return cut;
}

/* Returns true if a value was cut. */
static bool print_rows(struct console *console, const struct variables *variables)
{
    enum { WIDEST = 24 };
    int width = 0;
    bool cut = false;
    for (size_t i = 0; i < variables->count; i++) {
        const char *name = variables->items[i].name;
        int wide = (int)console_format_characters(name, strlen(name));
        width = wide > width && wide <= WIDEST ? wide : width;
    }
    for (size_t i = 0; i < variables->count; i++)
        cut = print_variable(console, &variables->items[i], width) || cut;
    return cut;
}

static void print_variables(struct console *console, const struct variables *variables,
                            const char *none)
{
    bool cut = print_rows(console, variables);
    if (!variables->count)
        console_note(console, "%s", none);
    else if (cut)
        console_note(console, "p --all NAME shows all of a value that ends in %s",
                     console_format_ellipsis(&console->style));
}

size_t values_print(struct console *console, struct json list)
{
    struct variables variables = {0};
    read_variables(list, &variables);
    size_t count = variables.count;
    print_rows(console, &variables);
    variables_clear(&variables);
    return count;
}

int console_verb_locals(struct console *console, char *argument)
{
    (void)argument;
    struct variables variables;
    struct err err;
    if (load_scope(console, "Locals", &variables, &err) != 0)
        return console_fail(console, &err);
    print_variables(console, &variables, "no local variables");
    variables_clear(&variables);
    return 0;
}

int console_verb_globals(struct console *console, char *argument)
{
    (void)argument;
    struct variables variables;
    struct err err;
    if (load_scope(console, "Globals", &variables, &err) != 0)
        return console_fail(console, &err);
    print_variables(console, &variables, "no global variables");
    variables_clear(&variables);
    return 0;
}

/* debugpy lists return values among the locals, as "(return) FUNCTION". */
int console_verb_retval(struct console *console, char *argument)
{
    static const char mark[] = "(return) ";
    (void)argument;
    struct variables variables, returned = {0};
    struct err err;
    if (load_scope(console, "Locals", &variables, &err) != 0)
        return console_fail(console, &err);
    returned.items = mem_array(variables.count + 1, sizeof *returned.items);
    for (size_t i = 0; i < variables.count; i++)
        if (text_starts(variables.items[i].name, mark)) {
            returned.items[returned.count] = variables.items[i];
            returned.items[returned.count++].name += strlen(mark);
        }
    print_variables(console, &returned, "no function has returned here yet");
    free(returned.items); /* `variables` owns the strings */
    variables_clear(&variables);
    return 0;
}

/* The names of the function's arguments, separated by commas. debugpy holds the selected frame in a
 * local variable while it evaluates: its code object is taken from there. */
static char *argument_names(struct console *console)
{
    return value_text(
        console, "(lambda c:','.join(c.co_varnames[:c.co_argcount+c.co_kwonlyargcount+"
                 "bool(c.co_flags&4)+bool(c.co_flags&8)]))([f.f_locals['frame'].f_code for f,_ in "
                 "__import__('traceback').walk_stack(__import__('sys')._getframe()) if "
                 "f.f_code.co_name=='evaluate_expression' "
                 "and 'frame' in f.f_locals][0])");
}

int console_verb_args(struct console *console, char *argument)
{
    (void)argument;
    struct variables variables, arguments = {0};
    struct err err;
    char *names = argument_names(console), *rest = names;
    if (!names)
        return console_error(console, "the worker did not tell the arguments: locals shows them");
    if (load_scope(console, "Locals", &variables, &err) != 0) {
        free(names);
        return console_fail(console, &err);
    }
    arguments.items = mem_array(variables.count + 1, sizeof *arguments.items);
    for (char *name; (name = strsep(&rest, ",")) && *name;)
        for (size_t i = 0; i < variables.count; i++)
            if (text_equal(variables.items[i].name, name) && arguments.count < variables.count)
                arguments.items[arguments.count++] = variables.items[i];
    print_variables(console, &arguments, "no arguments");
    free(arguments.items); /* `variables` owns the strings */
    variables_clear(&variables);
    free(names);
    return 0;
}
