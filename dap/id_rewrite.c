#include "dap/id_rewrite.h"

#include "base/text.h"
#include "dap/bytes.h"

#include <string.h>

/* --- which members are ids --- */

enum shape {
    SHAPE_ID,
    SHAPE_IDS, /* an array of ids */
    SHAPE_OBJECT,
    SHAPE_OBJECTS, /* an array of objects */
    SHAPE_TEXT,    /* a progressId */
};

struct members;

struct member {
    const char *name;
    size_t len;
    enum shape shape;
    enum id_kind kind;
    const struct members *inside;
};

/* The members of an object that are or contain ids. A SHAPE_TEXT member must be the first row. */
struct members {
    const struct member *rows;
    size_t count;
};

#define NAMED(name) (name), sizeof(name) - 1
#define ONE(name, kind)                                                                            \
    {                                                                                              \
        NAMED(name), SHAPE_ID, kind, NULL                                                          \
    }
#define MANY(name, kind)                                                                           \
    {                                                                                              \
        NAMED(name), SHAPE_IDS, kind, NULL                                                         \
    }
#define OBJECT(name, table)                                                                        \
    {                                                                                              \
        NAMED(name), SHAPE_OBJECT, ID_KIND_COUNT, &table##_members                                 \
    }
#define OBJECTS(name, table)                                                                       \
    {                                                                                              \
        NAMED(name), SHAPE_OBJECTS, ID_KIND_COUNT, &table##_members                                \
    }
#define TEXT(name)                                                                                 \
    {                                                                                              \
        NAMED(name), SHAPE_TEXT, ID_KIND_COUNT, NULL                                               \
    }
#define MEMBERS(table, ...)                                                                        \
    static const struct member table##_rows[] = {__VA_ARGS__};                                     \
    static const struct members table##_members = {table##_rows,                                   \
                                                   sizeof table##_rows / sizeof *table##_rows}

static const struct members source_members;
MEMBERS(source, ONE("sourceReference", ID_SOURCE), OBJECTS("sources", source));
MEMBERS(sourced, OBJECT("source", source));

/* Shared by requests. */
MEMBERS(thread, ONE("threadId", ID_THREAD));
MEMBERS(frame, ONE("frameId", ID_FRAME));
MEMBERS(frame_source, ONE("frameId", ID_FRAME), OBJECT("source", source));
MEMBERS(container, ONE("variablesReference", ID_VARIABLES));
MEMBERS(data, ONE("variablesReference", ID_VARIABLES), ONE("frameId", ID_FRAME));
MEMBERS(thread_target, ONE("threadId", ID_THREAD), ONE("targetId", ID_TARGET));
MEMBERS(source_too, OBJECT("source", source), ONE("sourceReference", ID_SOURCE));
MEMBERS(location, ONE("locationReference", ID_LOCATION));
MEMBERS(many_threads, MANY("threadIds", ID_THREAD));
MEMBERS(progress, TEXT("progressId"));

/* Bodies. */
MEMBERS(thread_row, ONE("id", ID_THREAD));
MEMBERS(frame_row, ONE("id", ID_FRAME), ONE("moduleId", ID_MODULE), OBJECT("source", source));
MEMBERS(scope_row, ONE("variablesReference", ID_VARIABLES), OBJECT("source", source));
MEMBERS(value, ONE("variablesReference", ID_VARIABLES), ONE("valueLocationReference", ID_LOCATION),
        ONE("declarationLocationReference", ID_LOCATION));
MEMBERS(breakpoint_row, ONE("id", ID_BREAKPOINT), OBJECT("source", source));
MEMBERS(target_row, ONE("id", ID_TARGET));
MEMBERS(module_row, ONE("id", ID_MODULE));
MEMBERS(instruction_row, OBJECT("location", source));

MEMBERS(threads_body, OBJECTS("threads", thread_row));
MEMBERS(frames_body, OBJECTS("stackFrames", frame_row));
MEMBERS(scopes_body, OBJECTS("scopes", scope_row));
MEMBERS(variables_body, OBJECTS("variables", value));
MEMBERS(references_body, OBJECTS("references", container));
MEMBERS(breakpoints_body, OBJECTS("breakpoints", breakpoint_row));
MEMBERS(targets_body, OBJECTS("targets", target_row));
MEMBERS(modules_body, OBJECTS("modules", module_row));
MEMBERS(sources_body, OBJECTS("sources", source));
MEMBERS(instructions_body, OBJECTS("instructions", instruction_row));
MEMBERS(stopped_body, ONE("threadId", ID_THREAD), MANY("hitBreakpointIds", ID_BREAKPOINT));
MEMBERS(breakpoint_body, OBJECT("breakpoint", breakpoint_row));
MEMBERS(module_body, OBJECT("module", module_row));
MEMBERS(invalidated_body, ONE("threadId", ID_THREAD), ONE("stackFrameId", ID_FRAME));
MEMBERS(output_body, ONE("variablesReference", ID_VARIABLES), ONE("locationReference", ID_LOCATION),
        OBJECT("source", source));
MEMBERS(progress_body, TEXT("progressId"), ONE("threadId", ID_THREAD));

#define REQUEST(name, table)                                                                       \
    {                                                                                              \
        DAP_REQUEST, name, &table##_members                                                        \
    }
#define RESPONSE(name, table)                                                                      \
    {                                                                                              \
        DAP_RESPONSE, name, &table##_members                                                       \
    }
#define EVENT(name, table)                                                                         \
    {                                                                                              \
        DAP_EVENT, name, &table##_members                                                          \
    }

static const struct message {
    enum dap_kind kind;
    const char *name;
    const struct members *members;
} messages[] = {
    RESPONSE("variables", variables_body),
    RESPONSE("evaluate", value),
    RESPONSE("setVariable", value),
    RESPONSE("setExpression", value),
    RESPONSE("stackTrace", frames_body),
    RESPONSE("scopes", scopes_body),
    RESPONSE("threads", threads_body),
    RESPONSE("setBreakpoints", breakpoints_body),
    RESPONSE("setFunctionBreakpoints", breakpoints_body),
    RESPONSE("setExceptionBreakpoints", breakpoints_body),
    RESPONSE("setInstructionBreakpoints", breakpoints_body),
    RESPONSE("setDataBreakpoints", breakpoints_body),
    RESPONSE("gotoTargets", targets_body),
    RESPONSE("stepInTargets", targets_body),
    RESPONSE("modules", modules_body),
    RESPONSE("loadedSources", sources_body),
    RESPONSE("locations", sourced),
    RESPONSE("disassemble", instructions_body),
    RESPONSE("raydbg/objects", references_body),

    EVENT("stopped", stopped_body),
    EVENT("continued", thread),
    EVENT("thread", thread),
    EVENT("output", output_body),
    EVENT("breakpoint", breakpoint_body),
    EVENT("module", module_body),
    EVENT("loadedSource", sourced),
    EVENT("invalidated", invalidated_body),
    EVENT("progressStart", progress_body),
    EVENT("progressUpdate", progress),
    EVENT("progressEnd", progress),

    REQUEST("variables", container),
    REQUEST("setVariable", container),
    REQUEST("evaluate", frame_source),
    REQUEST("setExpression", frame),
    REQUEST("completions", frame),
    REQUEST("scopes", frame),
    REQUEST("stepInTargets", frame),
    REQUEST("restartFrame", frame),
    REQUEST("stackTrace", thread),
    REQUEST("exceptionInfo", thread),
    REQUEST("continue", thread),
    REQUEST("next", thread),
    REQUEST("stepIn", thread_target),
    REQUEST("stepOut", thread),
    REQUEST("stepBack", thread),
    REQUEST("reverseContinue", thread),
    REQUEST("pause", thread),
    REQUEST("goto", thread_target),
    REQUEST("terminateThreads", many_threads),
    REQUEST("gotoTargets", sourced),
    REQUEST("setBreakpoints", sourced),
    REQUEST("breakpointLocations", sourced),
    REQUEST("source", source_too),
    REQUEST("dataBreakpointInfo", data),
    REQUEST("locations", location),
    REQUEST("cancel", progress),
    REQUEST("raydbg/objects", thread),
    REQUEST("raydbg/stepIntoRemote", thread),
    REQUEST("raydbg/stepOutToGet", thread),
    REQUEST("raydbg/takeOver", thread),
    REQUEST("raydbg/release", thread),
};

static const struct members *members_of(enum dap_kind kind, const char *name)
{
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (messages[i].kind == kind && text_equal(messages[i].name, name))
            return messages[i].members;
    return NULL;
}

bool id_rewrite_applies(enum dap_kind kind, const char *name)
{
    return members_of(kind, name) != NULL;
}

/* --- the pass --- */

struct pass {
    const char *text;
    size_t len;
    size_t at;
    size_t end;
    size_t done; /* `out` has everything in front of this offset */
    struct buf *out;

    /* For id_rewrite_out(), which sets `map`. */
    struct idmap *map;
    uint32_t slot;
    int64_t thread;
    /* For id_rewrite_in(), which sets `from`. */
    const struct idmap *from;
    enum id_route route;
    struct idmap_entry to;
};

static void replace(struct pass *pass, struct span at, const char *with, size_t len)
{
    if (!pass->done) /* ids grow by a few digits: by an eighth of a message of many short rows */
        buf_reserve(pass->out, pass->len + pass->len / 8);
    buf_add(pass->out, pass->text + pass->done, at.at - pass->done);
    buf_add(pass->out, with, len);
    pass->done = at.at + at.len;
}

static void replace_number(struct pass *pass, struct span at, int64_t number)
{
    char digits[20];
    size_t start = sizeof digits;
    for (; number; number /= 10) /* it is positive */
        digits[--start] = (char)('0' + number % 10);
    replace(pass, at, digits + start, sizeof digits - start);
}

/* Notes the debuggee that one id of a request belongs to. An unknown id makes the whole request
 * ID_ROUTE_UNKNOWN; otherwise ids of two debuggees make it ID_ROUTE_MIXED. */
static void note_route(struct pass *pass, bool known, uint32_t slot, int64_t thread)
{
    if (!known || pass->route == ID_ROUTE_UNKNOWN) {
        pass->route = ID_ROUTE_UNKNOWN;
        return;
    }
    if (pass->route == ID_ROUTE_NONE) {
        pass->route = ID_ROUTE_SLOT;
        pass->to.slot = slot;
    }
    if (pass->to.slot != slot)
        pass->route = ID_ROUTE_MIXED;
    if (!pass->to.thread)
        pass->to.thread = thread;
}

static void exchange_id(struct pass *pass, enum id_kind kind, struct span at)
{
    int64_t id, other;
    struct idmap_entry entry = {0};
    if (!scan_integer(pass->text, at, &id) || !id)
        return;
    if (pass->map) {
        other = idmap_out(pass->map, pass->slot, kind, id, pass->thread);
    } else {
        bool known = idmap_in(pass->from, kind, id, &entry);
        note_route(pass, known, entry.slot, entry.thread);
        other = entry.foreign;
    }
    if (other != id && other)
        replace_number(pass, at, other);
}

/* The length of the "SLOT/" that the string begins with, quote included, or 0. */
static size_t prefix_len(const char *text, struct span string, uint32_t *slot)
{
    uint64_t number = 0;
    size_t at = 1;
    for (; at < string.len && at < 11; at++) {
        char c = text[string.at + at];
        if (c < '0' || c > '9')
            break;
        number = number * 10 + (uint64_t)(c - '0');
    }
    if (at == 1 || at == string.len || text[string.at + at] != '/' || number > UINT32_MAX)
        return 0;
    *slot = (uint32_t)number;
    return at + 1;
}

static void exchange_text(struct pass *pass, struct span at)
{
    struct buf quoted = {0};
    uint32_t slot = 0;
    size_t prefix = prefix_len(pass->text, at, &slot);
    if (!pass->map) {
        note_route(pass, true, slot, 0);
        if (prefix)
            replace(pass, (struct span){at.at, prefix}, "\"", 1);
    } else if (pass->slot || prefix) { /* slot 0's stay, unless they look like another slot's */
        buf_printf(&quoted, "\"%u/", pass->slot);
        replace(pass, (struct span){at.at, 1}, quoted.data, quoted.len);
    }
    buf_free(&quoted);
}

static const struct member *find_member(const struct members *members, const char *text,
                                        struct span key)
{
    const char *name = text + key.at + 1;
    if (key.len < 2)
        return NULL;
    for (size_t i = 0; i < members->count; i++)
        if (members->rows[i].len == key.len - 2 &&
            memcmp(name, members->rows[i].name, key.len - 2) == 0)
            return &members->rows[i];
    /* A name with an escaped letter has at least five more bytes. */
    for (size_t i = 0; i < members->count; i++)
        if (members->rows[i].len + 5 <= key.len - 2 &&
            scan_key_is(text, key, members->rows[i].name))
            return &members->rows[i];
    return NULL;
}

static size_t skip_space(const struct pass *pass, size_t at)
{
    return bytes_space_end(pass->text, at, pass->end);
}

static struct span skip(struct pass *pass)
{
    size_t start = pass->at;
    pass->at = scan_skip(pass->text, start, pass->end);
    return (struct span){start, pass->at - start};
}

/* Moves `at` from behind an item to the next one; false, and behind the container, at its end. */
static bool next_item(struct pass *pass)
{
    size_t at = skip_space(pass, pass->at);
    bool more = at < pass->end && pass->text[at] == ',';
    pass->at = at < pass->end ? at + 1 : at;
    if (more)
        pass->at = skip_space(pass, pass->at);
    return more && pass->at < pass->end;
}

/* Moves `at` from an opening bracket to the first item; false, and behind the container, if it is
 * empty. */
static bool first_item(struct pass *pass)
{
    pass->at = skip_space(pass, pass->at + 1);
    if (pass->at >= pass->end)
        return false;
    char c = pass->text[pass->at];
    if (c == '}' || c == ']')
        pass->at++;
    return c != '}' && c != ']';
}

static void pass_object(struct pass *pass, const struct members *members);

/* NOLINTNEXTLINE(misc-no-recursion): scan_value() limits the depth of containers */
static void pass_value(struct pass *pass, const struct member *member, enum shape shape)
{
    char c = pass->text[pass->at];
    if (shape == SHAPE_OBJECT && c == '{') {
        pass_object(pass, member->inside);
    } else if ((shape == SHAPE_IDS || shape == SHAPE_OBJECTS) && c == '[') {
        for (bool more = first_item(pass); more; more = next_item(pass))
            pass_value(pass, member, shape == SHAPE_IDS ? SHAPE_ID : SHAPE_OBJECT);
    } else {
        struct span at = skip(pass);
        if (shape == SHAPE_ID)
            exchange_id(pass, member->kind, at);
        else if (shape == SHAPE_TEXT && c == '"')
            exchange_text(pass, at);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void pass_object(struct pass *pass, const struct members *members)
{
    bool texts = members->rows[0].shape == SHAPE_TEXT;
    for (bool more = first_item(pass); more; more = next_item(pass)) {
        size_t start = pass->at, behind = scan_skip_string(pass->text, start, pass->end);
        /* The colon, which may have white space on both sides. */
        pass->at = skip_space(pass, behind) + 1;
        pass->at = skip_space(pass, pass->at);
        if (pass->at >= pass->end)
            return;
        if (pass->text[pass->at] == '"' && !texts) { /* no id, whatever the key */
            pass->at = scan_skip_string(pass->text, pass->at, pass->end);
            continue;
        }
        struct span key = {start, behind - start};
        const struct member *member = find_member(members, pass->text, key);
        if (member)
            pass_value(pass, member, member->shape);
        else
            skip(pass);
    }
}

static void run(struct pass *pass, struct span within, const struct members *members)
{
    pass->at = within.at;
    pass->end = within.at + within.len;
    if (within.len && pass->text[within.at] == '{')
        pass_object(pass, members);
}

/* --- both directions --- */

static int64_t event_thread(const char *json, const struct envelope *envelope, int64_t thread)
{
    int64_t own;
    bool has = envelope->kind == DAP_EVENT && !text_equal(envelope->name, "output") &&
               scan_integer_at(json, envelope->body, "threadId", &own);
    return has ? own : thread;
}

bool id_rewrite_out(struct idmap *map, uint32_t slot, int64_t thread, const char *json, size_t len,
                    const struct envelope *envelope, struct buf *out)
{
    const struct members *members = members_of(envelope->kind, envelope->name);
    if (envelope->kind == DAP_REQUEST || !members)
        return false;
    struct pass pass = {.text = json, .len = len, .out = out, .map = map, .slot = slot};
    pass.thread = event_thread(json, envelope, thread);
    run(&pass, envelope->body, members);
    if (pass.done)
        buf_add(out, json + pass.done, len - pass.done);
    return pass.done != 0;
}

enum id_route id_rewrite_in(const struct idmap *map, const char *json, size_t len,
                            const struct envelope *envelope, struct idmap_entry *to,
                            struct buf *out)
{
    const struct members *members = members_of(envelope->kind, envelope->name);
    if (envelope->kind != DAP_REQUEST || !members)
        return ID_ROUTE_NONE;
    size_t before = out->len;
    struct pass pass = {.text = json, .len = len, .out = out, .from = map, .route = ID_ROUTE_NONE};
    run(&pass, envelope->arguments, members);
    if (pass.route == ID_ROUTE_SLOT) {
        buf_add(out, json + pass.done, len - pass.done);
        *to = pass.to;
    } else if (out->data) {
        out->len = before;
        out->data[before] = '\0';
    }
    return pass.route;
}
