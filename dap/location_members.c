#include "dap/location_members.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* The objects that have these members: `path` leads from the arguments or the body to them, with *
 * for each element of a list. */
enum shape {
    SOURCE = 1,   /* the object has a `source`, an object with a `path` */
    POSITION = 2, /* line, column, endLine, endColumn */
    PATH = 4,     /* the value is an object with a `path`, or is itself a path */
    LINE = 8,     /* the value is a line */
    SOURCE_MAP = 16,
};

static const struct row {
    enum dap_kind kind;
    const char *name; /* NULL: all */
    const char *path;
    unsigned shape;
} rows[] = {
    {DAP_REQUEST, NULL, "", SOURCE},
    {DAP_REQUEST, "setBreakpoints", "breakpoints/*", POSITION},
    {DAP_REQUEST, "setBreakpoints", "lines/*", LINE},
    {DAP_REQUEST, "breakpointLocations", "", POSITION},
    {DAP_REQUEST, "gotoTargets", "", POSITION},
    {DAP_REQUEST, "completions", "", POSITION},
    {DAP_REQUEST, "evaluate", "", POSITION},
    {DAP_REQUEST, "setPydevdSourceMap", "pydevdSourceMaps/*", SOURCE_MAP},
    {DAP_RESPONSE, "setBreakpoints", "breakpoints/*", SOURCE | POSITION},
    {DAP_RESPONSE, "setFunctionBreakpoints", "breakpoints/*", SOURCE | POSITION},
    {DAP_RESPONSE, "setExceptionBreakpoints", "breakpoints/*", SOURCE | POSITION},
    {DAP_RESPONSE, "setDataBreakpoints", "breakpoints/*", SOURCE | POSITION},
    {DAP_RESPONSE, "setInstructionBreakpoints", "breakpoints/*", SOURCE | POSITION},
    {DAP_RESPONSE, "breakpointLocations", "breakpoints/*", POSITION},
    {DAP_RESPONSE, "stackTrace", "stackFrames/*", SOURCE | POSITION},
    {DAP_RESPONSE, "scopes", "scopes/*", SOURCE | POSITION},
    {DAP_RESPONSE, "gotoTargets", "targets/*", POSITION},
    {DAP_RESPONSE, "stepInTargets", "targets/*", POSITION},
    {DAP_RESPONSE, "disassemble", "instructions/*", POSITION},
    {DAP_RESPONSE, "disassemble", "instructions/*/location", PATH},
    {DAP_RESPONSE, "locations", "", SOURCE | POSITION},
    {DAP_RESPONSE, "loadedSources", "sources/*", PATH},
    {DAP_RESPONSE, "modules", "modules/*", PATH},
    {DAP_RESPONSE, "exceptionInfo", "details/source", PATH},
    {DAP_EVENT, "breakpoint", "breakpoint", SOURCE | POSITION},
    {DAP_EVENT, "output", "", SOURCE | POSITION},
    {DAP_EVENT, "loadedSource", "source", PATH},
    {DAP_EVENT, "module", "module", PATH},
};

enum { ROWS = sizeof rows / sizeof *rows };

static const struct {
    const char *name;
    unsigned shape;
    enum location_member_kind kind;
} numbers[] = {
    {"line", POSITION | SOURCE_MAP, LOCATION_MEMBER_LINE},
    {"endLine", POSITION | SOURCE_MAP, LOCATION_MEMBER_LINE},
    {"runtimeLine", SOURCE_MAP, LOCATION_MEMBER_LINE},
    {"column", POSITION, LOCATION_MEMBER_COLUMN},
    {"endColumn", POSITION, LOCATION_MEMBER_COLUMN},
};

static const struct span none;

struct walk {
    const char *json;
    struct location_members *out;
};

static void add(const struct walk *walk, enum location_member_kind kind, struct span at,
                struct span reference)
{
    struct location_members *out = walk->out;
    if (out->count == out->room)
        out->items = mem_grow(out->items, out->count, &out->room, sizeof *out->items);
    out->items[out->count++] = (struct location_member){kind, at, reference};
}

static bool is_row_of(const struct row *row, enum dap_kind kind, const char *name)
{
    return row->kind == kind && (!row->name || text_equal(row->name, name));
}

bool location_members_any(enum dap_kind kind, const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (is_row_of(&rows[i], kind, name))
            return true;
    return false;
}

static void visit_source(const struct walk *walk, struct span source)
{
    struct span path, reference = {0, 0};
    if (walk->json[source.at] == '"') {
        add(walk, LOCATION_MEMBER_PATH, source, reference);
        return;
    }
    if (!scan_find(walk->json, source, "path", &path))
        return;
    scan_find(walk->json, source, "sourceReference", &reference);
    add(walk, LOCATION_MEMBER_PATH, path, reference);
}

static void visit_member(const struct walk *walk, unsigned shape, struct span key,
                         struct span value)
{
    if (shape & SOURCE && scan_key_is(walk->json, key, "source"))
        visit_source(walk, value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (shape & numbers[i].shape && scan_key_is(walk->json, key, numbers[i].name))
            add(walk, numbers[i].kind, value, none);
}

static void visit(const struct walk *walk, unsigned shape, struct span at)
{
    struct span key, value;
    size_t cursor = 0;
    if (shape & LINE)
        add(walk, LOCATION_MEMBER_LINE, at, none);
    else if (shape & PATH)
        visit_source(walk, at);
    else if (walk->json[at.at] == '{')
        while (scan_member(walk->json, at, &cursor, &key, &value))
            visit_member(walk, shape, key, value);
}

/* Follows `path`, whose lists are at most one deep. */
static void follow(const struct walk *walk, const char *path, unsigned shape, struct span at)
{
    size_t len = strcspn(path, "/"), cursor = 0;
    const char *rest = path + len + (path[len] == '/');
    char key[32];
    struct span value;
    if (!len) {
        visit(walk, shape, at);
    } else if (*path == '*') {
        while (walk->json[at.at] == '[' && scan_element(walk->json, at, &cursor, &value))
            follow(walk, rest, shape, value);
    } else {
        memcpy(key, path, len);
        key[len] = '\0';
        if (walk->json[at.at] == '{' && scan_find(walk->json, at, key, &value))
            follow(walk, rest, shape, value);
    }
}

static int by_position(const void *a, const void *b)
{
    size_t one = ((const struct location_member *)a)->at.at,
           two = ((const struct location_member *)b)->at.at;
    return (one > two) - (one < two);
}

void location_members_find(const char *json, const struct envelope *envelope,
                           struct location_members *out)
{
    const struct walk walk = {json, out};
    struct span all = envelope->kind == DAP_REQUEST ? envelope->arguments : envelope->body;
    *out = (struct location_members){0};
    for (size_t i = 0; all.len && i < ROWS; i++)
        if (is_row_of(&rows[i], envelope->kind, envelope->name))
            follow(&walk, rows[i].path, rows[i].shape, all);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_position);
}

void location_members_clear(struct location_members *members)
{
    free(members->items);
    *members = (struct location_members){0};
}
