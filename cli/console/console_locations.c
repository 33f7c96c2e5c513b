/* Finds the file, line or function that a user names for a breakpoint. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/console/console_parse.h"
#include "dap/message.h"
#include "dap/path_map.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Maps a path in the worker to the client's by --map, or with `to_worker` the other way. The caller
 * frees. */
static char *mapped(const struct console *console, const char *path, bool to_worker)
{
    char *other = to_worker ? path_map_to_worker(console->paths, path)
                            : path_map_to_client(console->paths, path);
    return other ? other : mem_string(path);
}

/* The path by which the worker has the file `path`, which may be another name of it
 * (relay/inject/injections/files.py); `path` if the worker does not say. Takes ownership of
 * `path`; the caller frees. */
static char *known_as(struct console *console, char *path)
{
    char *theirs = mapped(console, path, true);
    struct buf expression = {0};
    buf_add_string(&expression, "__import__('pydevd')._raydbg_name_of(");
    message_quote(&expression, theirs);
    buf_add_string(&expression, ")");
    char *name = console->thread ? value_of_process(console, expression.data) : NULL;
    buf_free(&expression);
    free(theirs);
    if (!name || !*name) {
        free(name);
        return path;
    }
    char *ours = mapped(console, name, false);
    free(name);
    free(path);
    return ours;
}

static bool ends_in(const char *path, const char *file)
{
    size_t len = strlen(path), want = strlen(file);
    return text_ends(path, file) && (len == want || path[len - want - 1] == '/');
}

static char *file_of_stack(const struct console *console, const char *file)
{
    for (size_t i = 0; i < console->frame_count; i++)
        if (ends_in(console->frames[i].path, file))
            return mem_string(console->frames[i].path);
    return NULL;
}

/* The path of the worker's only module file that ends in `file`; several are an error. */
static char *file_of_module(struct console *console, const char *file, struct err *err)
{
    struct buf expression = {0};
    buf_add_string(&expression,
                   "'\\n'.join(sorted({m.__file__ for m in list(__import__('sys').modules.values())"
                   " if isinstance(getattr(m,'__file__',None),str) and m.__file__.endswith('/'+");
    message_quote(&expression, file);
    buf_add_string(&expression, ")}))");
    char *found = value_of_process(console, expression.data);
    buf_free(&expression);
    if (!text_empty(found) && strchr(found, '\n')) {
        size_t end = console_format_prefix(found, 300);
        err_set(err, ERR_NOT_FOUND, "several loaded files end in '%s':", file);
        err_why(err, "%.*s", (int)end, found);
    } else if (!text_empty(found)) {
        char *path = mapped(console, found, false);
        free(found);
        return path;
    }
    free(found);
    return NULL;
}

static char *find_file(struct console *console, const char *file, struct err *err)
{
    char *path = *file == '/' ? mem_string(file) : file_of_stack(console, file);
    *err = (struct err){0};
    if (!path && console->thread)
        path = file_of_module(console, file, err);
    if (!path && !err->code && access(file, R_OK) == 0) {
        char *real = realpath(file, NULL);
        path = mem_string(real);
        free(real);
    }
    if (path)
        path = known_as(console, path);
    else if (!err->code)
        err_set(err, ERR_NOT_FOUND, "the worker has loaded no file '%s': give its whole path",
                file);
    return path;
}

/* Reads "LINE PATH", such as "12 /app/a.py", and changes it. False if `found` has another form. */
static bool take_location(struct console *console, struct breakpoint *breakpoint, char *found)
{
    char *space = found ? strchr(found, ' ') : NULL;
    if (!space)
        return false;
    *space = '\0';
    if (!text_to_int(found, 1, INT32_MAX, &breakpoint->line))
        return false;
    breakpoint->path = mapped(console, space + 1, false);
    return true;
}

/* Asks the worker for the first line of the function's body. False if the selected frame cannot
 * evaluate its name. */
static bool find_function(struct console *console, struct breakpoint *breakpoint)
{
    struct buf expression = {0};
    buf_add_string(
        &expression,
        "(lambda d,c:'%d %s'%(min([l for _,l in d.findlinestarts(c) if l and l>c.co_firstlineno]"
        " or [c.co_firstlineno]),c.co_filename))(__import__('dis'),(lambda u,o:u(getattr(o,"
        "'_function',None) or getattr(o,'__func__',o)).__code__)(__import__('inspect').unwrap,(");
    buf_add_string(&expression, breakpoint->function);
    buf_add_string(&expression, "\n)))");
    char *found = value_text(console, expression.data);
    buf_free(&expression);
    bool ok = take_location(console, breakpoint, found);
    free(found);
    return ok;
}

/* Python that finds functions of this name in the task's own code, also those that the frame cannot
 * name: in its globals, in modules that are not installed packages, on the threads' stacks, and
 * within any of these. Gives a line "LINE PATH" for each; without any, a word that says what the
 * name is instead (`other_kinds`). The body of a class runs once, so it is no place to stop. */
static const char search[] =
    "def find(name, globs):\n"
    "    import dis, sys\n"
    "    locations = set()\n"
    "    def code(c):\n"
    "        if 'site-packages' in c.co_filename or c.co_filename.startswith(lib): return\n"
    "        if c.co_name == name and c.co_flags & 1:\n"
    "            lines = [l for _, l in dis.findlinestarts(c) if l and l > c.co_firstlineno]\n"
    "            locations.add((min(lines or [c.co_firstlineno]), c.co_filename))\n"
    "        for k in c.co_consts:\n"
    "            if hasattr(k, 'co_code'): code(k)\n"
    "    def value(v, inner):\n"
    "        for a in '_function', '__func__', '__wrapped__':\n"
    "            v = vars(v).get(a, v) if hasattr(v, '__dict__') else v\n"
    "        if hasattr(v, '__code__'): code(v.__code__)\n"
    "        elif isinstance(v, type) and inner and 'site-packages' not in str(getattr(\n"
    "                sys.modules.get(v.__module__), '__file__', '')):\n"
    "            for w in list(vars(v).values()): value(w, False)\n"
    "    lib = dis.__file__[:-len('dis.py')]\n"
    "    roots = [globs] + [vars(m) for m in list(sys.modules.values())\n"
    "                       if 'site-packages' not in str(getattr(m, '__file__', None) or lib)\n"
    "                       and not str(getattr(m, '__file__', None) or lib).startswith(lib)]\n"
    "    for root in roots:\n"
    "        for v in list(root.values()): value(v, True)\n"
    "    for f in list(sys._current_frames().values()):\n"
    "        while f:\n"
    "            code(f.f_code)\n"
    "            f = f.f_back\n"
    "    v = globs.get(name, getattr(__import__('builtins'), name, locations))\n"
    "    kind = ('nothing' if v is locations else\n"
    "            'class' if isinstance(v, type) or hasattr(v, '__ray_metadata__') else\n"
    "            'builtin' if callable(v) else 'value')\n"
    "    return '\\n'.join('%d %s' % p for p in sorted(locations)) or kind\n";

/* The other kinds of things that a name may stand for, and a hint for each. */
static const struct {
    const char *kind, *what, *hint;
} other_kinds[] = {
    {"class", "is a class, which has no line to stop at", "break CLASS.METHOD stops in it"},
    {"builtin", "is not written in Python: it has no line to stop at", ""},
    {"value", "is no function", "break FUNCTION or break [FILE:]LINE"},
};

static char *search_function(struct console *console, const char *name)
{
    struct buf expression = {0};
    buf_add_string(&expression, "(lambda g:(exec(");
    message_quote(&expression, search);
    buf_add_string(&expression, ",g),g['find'](");
    message_quote(&expression, name);
    buf_add_string(&expression, ",globals()))[1])({})");
    char *found = value_text(console, expression.data);
    buf_free(&expression);
    return found;
}

static bool is_name(const char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && *text != '_' && !(*text & 0x80))
            return false;
    return true;
}

/* "12 /app/a.py\n30 /app/b.py" as "/app/a.py:12, /app/b.py:30" */
static char *list_locations(char *found)
{
    struct buf out = {0};
    for (char *line; (line = strsep(&found, "\n"));) {
        char *space = strchr(line, ' ');
        if (space)
            buf_printf(&out, "%s%s:%.*s", out.len ? ", " : "", space + 1, (int)(space - line),
                       line);
    }
    buf_add(&out, "", 1);
    return buf_take(&out);
}

/* The error for a name that is no function; `kind` NULL: not known. */
static int fail_kind(const char *name, const char *kind, struct err *err)
{
    for (size_t i = 0; i < sizeof other_kinds / sizeof *other_kinds; i++) {
        if (!text_equal(kind, other_kinds[i].kind))
            continue;
        err_set(err, ERR_NOT_FOUND, "'%s' %s", name, other_kinds[i].what);
        return err_why(err, "%s", other_kinds[i].hint);
    }
    err_set(err, ERR_NOT_FOUND, "there is no function '%s' in this frame or the task's code", name);
    return err_why(err, "break FILE:LINE sets it in a file that is not loaded yet");
}

/* Takes a function that the frame cannot name, if it is the only one of its name in the task's
 * code. Changes `found`. */
static int take_elsewhere(struct console *console, struct breakpoint *fresh, char *found,
                          struct err *err)
{
    if (!found || !strchr(found, ' '))
        return fail_kind(fresh->function, found, err);
    if (!strchr(found, '\n') && take_location(console, fresh, found))
        return 0;
    char *locations = list_locations(found);
    err_set(err, ERR_NOT_FOUND, "several functions are called '%s': break FILE:LINE",
            fresh->function);
    err_why(err, "%s", locations ? locations : "");
    free(locations);
    return -1;
}

int location_function(struct console *console, struct breakpoint *fresh, struct err *err)
{
    if (console->thread && find_function(console, fresh))
        return 0;
    char *found = is_name(fresh->function) ? search_function(console, fresh->function) : NULL;
    /* debugpy before 1.8.7 gives no value without a frame: it finds the function when it is
     * called. */
    bool unknown = !console->thread && text_empty(found);
    int result = unknown ? 0 : take_elsewhere(console, fresh, found, err);
    free(found);
    return result;
}

int location_find(struct console *console, const struct location *location,
                  struct breakpoint *fresh, struct err *err)
{
    const struct stack_frame *frame = stack_selected(console);
    fresh->condition = mem_string(location->condition);
    fresh->function = mem_string(location->function);
    fresh->line = location->line;
    if (location->file) {
        fresh->path = find_file(console, location->file, err);
        return fresh->path ? 0 : -1;
    }
    if (location->function)
        return location_function(console, fresh, err);
    if (!frame || !*frame->path)
        return err_set(err, ERR_NOT_FOUND, "there is no current file: give one, FILE:%" PRId64,
                       location->line);
    fresh->path = mem_string(frame->path);
    return 0;
}
