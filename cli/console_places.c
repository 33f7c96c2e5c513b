/* Where a breakpoint is to be: files and functions as a user names them. */
#include "cli/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/console_parse.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A path of the worker's as a client sees it. */
static char *mapped(const struct console *console, const char *path)
{
    for (size_t i = 0; i < console->options->map_count; i++) {
        const struct path_map *map = &console->options->maps[i];
        size_t len = strlen(map->remote);
        if (strncmp(path, map->remote, len) == 0 && (path[len] == '/' || !path[len]))
            return mem_format("%s%s", map->local, path + len);
    }
    return mem_string(path);
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

/* The file of the one module of the worker whose path ends so; several are an error. */
static char *file_of_module(struct console *console, const char *file, struct err *err)
{
    struct buf expression = {0};
    buf_add_string(&expression,
                   "'\\n'.join(sorted({m.__file__ for m in list(__import__('sys').modules.values())"
                   " if isinstance(getattr(m,'__file__',None),str) and m.__file__.endswith('/'+");
    message_quote(&expression, file);
    buf_add_string(&expression, ")}))");
    char *found = value_text(console, expression.data);
    buf_free(&expression);
    if (!text_empty(found) && strchr(found, '\n')) {
        size_t end = view_prefix(found, 300);
        err_set(err, ERR_NOT_FOUND, "several loaded files end in '%s':", file);
        err_why(err, "%.*s", (int)end, found);
    } else if (!text_empty(found)) {
        char *path = mapped(console, found);
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
    if (!path && !err->code)
        err_set(err, ERR_NOT_FOUND, "the worker has loaded no file '%s': give its whole path",
                file);
    return path;
}

/* The first line of a function's body, asked of the worker; false if its name means nothing in the
 * selected frame. */
static bool find_function(struct console *console, struct breakpoint *breakpoint)
{
    struct buf expression = {0};
    if (!console->thread)
        return false;
    buf_add_string(
        &expression,
        "(lambda d,c:'%d %s'%(min([l for _,l in d.findlinestarts(c) if l and l>c.co_firstlineno]"
        " or [c.co_firstlineno]),c.co_filename))(__import__('dis'),(lambda u,o:u(getattr(o,"
        "'_function',None) or getattr(o,'__func__',o)).__code__)(__import__('inspect').unwrap,(");
    buf_add_string(&expression, breakpoint->function);
    buf_add_string(&expression, "\n)))");
    char *found = value_text(console, expression.data);
    buf_free(&expression);
    char *space = found ? strchr(found, ' ') : NULL;
    bool ok = false;
    if (space) {
        *space = '\0';
        ok = text_to_int(found, 1, INT32_MAX, &breakpoint->line);
    }
    if (ok)
        breakpoint->path = mapped(console, space + 1);
    free(found);
    return ok;
}

int place_locate(struct console *console, const struct location *location, struct breakpoint *fresh,
                 struct err *err)
{
    const struct stack_frame *frame = stack_selected(console);
    fresh->condition = mem_string(location->condition);
    fresh->function = mem_string(location->function);
    fresh->line = location->line;
    if (location->file) {
        fresh->path = find_file(console, location->file, err);
        return fresh->path ? 0 : -1;
    }
    if (location->function) {
        if (!find_function(console, fresh) && strpbrk(location->function, " ()[]{}\"'.="))
            return err_set(err, ERR_NOT_FOUND, "'%s' is no function here", location->function);
        return 0;
    }
    if (!frame || !*frame->path)
        return err_set(err, ERR_NOT_FOUND, "there is no current file: give one, FILE:%" PRId64,
                       location->line);
    fresh->path = mem_string(frame->path);
    return 0;
}
