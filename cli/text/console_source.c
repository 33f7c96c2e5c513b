#include "cli/text/console_source.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_LIMIT = 16 << 20 };

void source_clear(struct source *source)
{
    free(source->text);
    free(source->lines);
    *source = (struct source){0};
}

void source_set(struct source *source, char *text)
{
    source_clear(source);
    source->text = text;
    size_t room = 1;
    for (const char *at = text; *at; at++)
        room += *at == '\n';
    source->lines = mem_array(room, sizeof *source->lines);
    for (char *at = text; *at;) {
        char *end = at + strcspn(at, "\n");
        bool more = *end;
        *end = '\0';
        if (end > at && end[-1] == '\r')
            end[-1] = '\0';
        source->lines[source->count++] = at;
        at = end + more;
    }
}

const char *source_line(const struct source *source, int64_t number)
{
    if (number < 1 || (uint64_t)number > source->count)
        return NULL;
    return source->lines[number - 1];
}

static size_t indent(const char *line)
{
    return strspn(line, " \t");
}

static bool is_blank(const char *line)
{
    const char *first = line + indent(line);
    return !*first || *first == '#';
}

static bool is_def(const char *line)
{
    line += indent(line);
    return text_starts(line, "def ") || text_starts(line, "async def ");
}

/* The line of the `def` around `line`, or 0. */
static int64_t find_def(const struct source *source, int64_t line)
{
    const char *text = source_line(source, line);
    if (!text)
        return 0;
    if (is_def(text))
        return line;
    size_t inner = is_blank(text) ? SIZE_MAX : indent(text);
    for (int64_t at = line - 1; at >= 1; at--) {
        text = source_line(source, at);
        if (is_blank(text) || indent(text) >= inner)
            continue;
        if (is_def(text))
            return at;
        /* A closing bracket of a signature or call may have a smaller indent than its contents. */
        if (!strchr(")]}", text[indent(text)]))
            inner = indent(text);
    }
    return 0;
}

void source_function(const struct source *source, int64_t line, const char *name, int64_t *first,
                     int64_t *last)
{
    int64_t def = text_equal(name, "<module>") ? 0 : find_def(source, line);
    *first = 1;
    *last = (int64_t)source->count;
    if (!def)
        return;
    size_t outer = indent(source_line(source, def));
    *first = def;
    for (const char *above; (above = source_line(source, *first - 1)); --*first)
        if (indent(above) != outer || above[outer] != '@')
            break;
    *last = def;
    for (int64_t at = def + 1; at <= (int64_t)source->count; at++) {
        const char *text = source_line(source, at);
        if (is_blank(text))
            continue;
        if (indent(text) <= outer && !strchr(")]}", text[indent(text)]))
            break;
        *last = at;
    }
}

char *source_read_file(const char *path, int64_t *size)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > FILE_LIMIT)
        return NULL;
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    size_t room = (size_t)info.st_size;
    char *text = mem_alloc(room + 1);
    size_t len = fread(text, 1, room, file);
    text[len] = '\0';
    *size = (int64_t)len;
    fclose(file);
    return text;
}
