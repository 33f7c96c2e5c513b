#include "cli/common/call_site.h"

#include "base/mem.h"
#include "base/ray_path.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char delimiter[] = " | ";

/* The prefixes that Ray's get_py_stack() puts before the frames, and the user's words for them. */
static const struct {
    const char *said, *meant;
} deeds[] = {
    {"(put object)", "ray.put"},
    {"(task call)", "task call"},
    {"(actor call)", "actor call"},
    {"(deserialize task arg)", "argument"},
    {"(deserialize actor task arg)", "argument"},
};

bool call_site_known(const char *call_site)
{
    return !text_empty(call_site) && !text_equal(call_site, "<unknown>");
}

bool call_site_of_argument(const char *call_site, const char **name)
{
    for (size_t i = 0; call_site && i < sizeof deeds / sizeof *deeds; i++) {
        if (!text_equal(deeds[i].meant, "argument") || !text_starts(call_site, deeds[i].said))
            continue;
        *name = call_site + strlen(deeds[i].said);
        while (**name == ' ' || **name == '|')
            ++*name;
        return true;
    }
    return false;
}

struct frame {
    const char *path, *function, *line;
    size_t path_len, function_len, line_len;
};

/* "/app/train.py:main:12"; a Windows path has a colon of its own. */
static bool read_frame(const char *text, size_t len, struct frame *out)
{
    size_t line = len, function;
    while (line > 0 && isdigit((unsigned char)text[line - 1]))
        line--;
    if (line == len || line < 2 || text[line - 1] != ':')
        return false;
    for (function = line - 1; function > 0 && text[function - 1] != ':'; function--)
        continue;
    if (function < 2)
        return false;
    *out = (struct frame){.path = text,
                          .path_len = function - 1,
                          .function = text + function,
                          .function_len = line - 1 - function,
                          .line = text + line,
                          .line_len = len - line};
    return true;
}

static bool is_rays_own(const struct frame *frame)
{
    return ray_path_is(frame->path, frame->path_len);
}

/* The first frame of the user's code, else the first frame. */
static bool find_frame(const char *at, struct frame *out)
{
    bool found = false;
    while (*at) {
        const char *end = strstr(at, delimiter);
        size_t len = end ? (size_t)(end - at) : strlen(at);
        struct frame frame;
        if (read_frame(at, len, &frame) && (!found || !is_rays_own(&frame))) {
            *out = frame;
            found = true;
            if (!is_rays_own(&frame))
                return true;
        }
        at += end ? len + strlen(delimiter) : len;
    }
    return found;
}

void call_site_text(const char *call_site, struct buf *out)
{
    const char *deed = "", *at = call_site;
    struct frame frame;
    while (*at == ' ')
        at++;
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        if (text_starts(at, deeds[i].said)) {
            deed = deeds[i].meant;
            at += strlen(deeds[i].said);
            break;
        }
    }
    while (*at == ' ' || *at == '|')
        at++;
    if (!find_frame(at, &frame)) {
        buf_printf(out, "%s%s%s", deed, *deed && *at ? " of " : "", at);
        return;
    }
    const char *slash = memrchr(frame.path, '/', frame.path_len);
    const char *file = slash ? slash + 1 : frame.path;
    buf_printf(out, "%.*s:%.*s%s%s in %.*s", (int)(frame.path + frame.path_len - file), file,
               (int)frame.line_len, frame.line, *deed ? " " : "", deed, (int)frame.function_len,
               frame.function);
}
