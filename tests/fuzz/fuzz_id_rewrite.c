/* Whatever the bytes: each member that is an id by the list of paths below, and no other byte, is
 * exchanged, and the map leads back from the one to the other; the envelope that is moved is the
 * one that is read. In a request "@3" stands for an id of the session's that is the debuggee's 3.
 */
#include "fuzz.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/id_rewrite.h"

/* --- the ids, by their paths: written down a second time, in another form --- */

enum { TEXT_ID = ID_KIND_COUNT, NO_ID };

static const struct {
    enum dap_kind kind;
    const char *names; /* with a blank on each side */
    const char *path;
    int id;
} ids[] = {
    {DAP_RESPONSE, " threads ", "threads[].id", ID_THREAD},
    {DAP_RESPONSE, " stackTrace ", "stackFrames[].id", ID_FRAME},
    {DAP_RESPONSE, " stackTrace ", "stackFrames[].moduleId", ID_MODULE},
    {DAP_RESPONSE, " stackTrace ", "stackFrames[].source.sourceReference", ID_SOURCE},
    {DAP_RESPONSE, " scopes ", "scopes[].variablesReference", ID_VARIABLES},
    {DAP_RESPONSE, " scopes ", "scopes[].source.sourceReference", ID_SOURCE},
    {DAP_RESPONSE, " variables ", "variables[].variablesReference", ID_VARIABLES},
    {DAP_RESPONSE, " variables ", "variables[].valueLocationReference", ID_LOCATION},
    {DAP_RESPONSE, " variables ", "variables[].declarationLocationReference", ID_LOCATION},
    {DAP_RESPONSE, " evaluate setVariable setExpression ", "variablesReference", ID_VARIABLES},
    {DAP_RESPONSE, " evaluate setVariable setExpression ", "valueLocationReference", ID_LOCATION},
    {DAP_RESPONSE, " evaluate setVariable setExpression ", "declarationLocationReference",
     ID_LOCATION},
    {DAP_RESPONSE,
     " setBreakpoints setFunctionBreakpoints setExceptionBreakpoints setInstructionBreakpoints "
     "setDataBreakpoints ",
     "breakpoints[].id", ID_BREAKPOINT},
    {DAP_RESPONSE,
     " setBreakpoints setFunctionBreakpoints setExceptionBreakpoints setInstructionBreakpoints "
     "setDataBreakpoints ",
     "breakpoints[].source.sourceReference", ID_SOURCE},
    {DAP_RESPONSE, " gotoTargets stepInTargets ", "targets[].id", ID_TARGET},
    {DAP_RESPONSE, " modules ", "modules[].id", ID_MODULE},
    {DAP_RESPONSE, " loadedSources ", "sources[].sourceReference", ID_SOURCE},
    {DAP_RESPONSE, " locations ", "source.sourceReference", ID_SOURCE},
    {DAP_RESPONSE, " disassemble ", "instructions[].location.sourceReference", ID_SOURCE},
    {DAP_RESPONSE, " raydbg/objects ", "references[].variablesReference", ID_VARIABLES},
    {DAP_EVENT, " stopped continued thread invalidated progressStart ", "threadId", ID_THREAD},
    {DAP_EVENT, " stopped ", "hitBreakpointIds[]", ID_BREAKPOINT},
    {DAP_EVENT, " invalidated ", "stackFrameId", ID_FRAME},
    {DAP_EVENT, " output ", "variablesReference", ID_VARIABLES},
    {DAP_EVENT, " output ", "locationReference", ID_LOCATION},
    {DAP_EVENT, " output loadedSource ", "source.sourceReference", ID_SOURCE},
    {DAP_EVENT, " breakpoint ", "breakpoint.id", ID_BREAKPOINT},
    {DAP_EVENT, " breakpoint ", "breakpoint.source.sourceReference", ID_SOURCE},
    {DAP_EVENT, " module ", "module.id", ID_MODULE},
    {DAP_EVENT, " progressStart progressUpdate progressEnd ", "progressId", TEXT_ID},
    {DAP_REQUEST, " variables setVariable dataBreakpointInfo ", "variablesReference", ID_VARIABLES},
    {DAP_REQUEST,
     " evaluate setExpression completions scopes stepInTargets restartFrame dataBreakpointInfo ",
     "frameId", ID_FRAME},
    {DAP_REQUEST, " evaluate gotoTargets setBreakpoints breakpointLocations source ",
     "source.sourceReference", ID_SOURCE},
    {DAP_REQUEST, " source ", "sourceReference", ID_SOURCE},
    {DAP_REQUEST,
     " stackTrace exceptionInfo continue next stepIn stepOut stepBack reverseContinue pause goto "
     "raydbg/objects raydbg/takeOver raydbg/release ",
     "threadId", ID_THREAD},
    {DAP_REQUEST, " stepIn goto ", "targetId", ID_TARGET},
    {DAP_REQUEST, " terminateThreads ", "threadIds[]", ID_THREAD},
    {DAP_REQUEST, " locations ", "locationReference", ID_LOCATION},
    {DAP_REQUEST, " cancel ", "progressId", TEXT_ID},
};

static bool is_source(const char *path, size_t len)
{
    static const char *const ends[] = {".source", ".location", ".sources[]"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (len >= end && memcmp(path + len - end, ends[i], end) == 0)
            return true;
    }
    return false;
}

/* A source's `sources` are sources as it is one: they are taken out of the path. */
static void collapse(char *path)
{
    static const char inner[] = ".sources[]";
    char *at = path;
    while ((at = strstr(at, inner))) {
        if (is_source(path, (size_t)(at - path)) && at[sizeof inner - 1] == '.')
            memmove(at, at + sizeof inner - 1, strlen(at + sizeof inner - 1) + 1);
        else
            at++;
    }
}

/* `path` starts with a dot. */
static int id_at(const struct envelope *envelope, const char *path)
{
    char *name = mem_format(" %s ", envelope->name), *plain = mem_string(path);
    int id = NO_ID;
    collapse(plain);
    for (size_t i = 0; *plain && !strchr(envelope->name, ' ') && i < sizeof ids / sizeof *ids; i++)
        if (ids[i].kind == envelope->kind && strstr(ids[i].names, name) &&
            text_equal(ids[i].path, plain + 1))
            id = ids[i].id;
    free(name);
    free(plain);
    return id;
}

/* --- both texts, side by side --- */

struct pair {
    const struct idmap *map;
    const struct envelope *envelope;
    uint32_t slot;
    const char *in;
    const char *out;
    bool changed;
};

static bool same_bytes(const struct pair *pair, struct span in, struct span out)
{
    return in.len == out.len && memcmp(pair->in + in.at, pair->out + out.at, in.len) == 0;
}

static void check_number(struct pair *pair, enum id_kind kind, struct span in, struct span out)
{
    bool request = pair->envelope->kind == DAP_REQUEST;
    int64_t came, went;
    struct idmap_entry entry = {0};
    if (!scan_integer(pair->in, in, &came) || came == 0 ||
        (!request && (came < 0 || came > INT32_MAX))) {
        check(same_bytes(pair, in, out));
        return;
    }
    check(scan_integer(pair->out, out, &went));
    check(idmap_in(pair->map, kind, request ? came : went, &entry));
    check(entry.slot == pair->slot && entry.foreign == (request ? went : came));
    pair->changed = pair->changed || came != went;
}

static void check_text(struct pair *pair, struct span in, struct span out)
{
    char *came = scan_string(pair->in, in), *went = scan_string(pair->out, out);
    if (came && !same_bytes(pair, in, out)) {
        bool request = pair->envelope->kind == DAP_REQUEST;
        char *wanted = mem_format("%u/%s", pair->slot, request ? went : came);
        check(text_equal(wanted, request ? came : went));
        pair->changed = true;
        free(wanted);
    } else {
        check(same_bytes(pair, in, out));
        check(!came || pair->slot == 0); /* only the first debuggee's stay */
    }
    free(came);
    free(went);
}

static void check_scalar(struct pair *pair, const char *path, struct span in, struct span out)
{
    int id = id_at(pair->envelope, path);
    if (id == NO_ID)
        check(same_bytes(pair, in, out));
    else if (id == TEXT_ID)
        check_text(pair, in, out);
    else
        check_number(pair, (enum id_kind)id, in, out);
}

static bool next(const char *text, struct span within, bool object, size_t *cursor,
                 struct span *key, struct span *value)
{
    *key = (struct span){within.at, 0};
    return object ? scan_member(text, within, cursor, key, value)
                  : scan_element(text, within, cursor, value);
}

static char *path_inside(const struct pair *pair, const char *path, bool object, struct span key)
{
    if (!object)
        return mem_format("%s[]", path);
    char *name = scan_string(pair->in, key);
    /* A key with the list's own signs in it is none of the list's. */
    char *inside = mem_format("%s.%s", path, strpbrk(name, ".[]") ? "?" : name);
    free(name);
    return inside;
}

static void check_value(struct pair *pair, const char *path, struct span in, struct span out)
{
    char c = pair->in[in.at];
    struct span in_key, out_key, in_value, out_value;
    size_t in_cursor = 0, out_cursor = 0;
    bool object = c == '{';
    if (!object && c != '[') {
        check_scalar(pair, path, in, out);
        return;
    }
    check(pair->out[out.at] == c);
    while (next(pair->in, in, object, &in_cursor, &in_key, &in_value)) {
        check(next(pair->out, out, object, &out_cursor, &out_key, &out_value));
        check(same_bytes(pair, in_key, out_key));
        char *inside = path_inside(pair, path, object, in_key);
        check_value(pair, inside, in_value, out_value);
        free(inside);
    }
    check(!next(pair->out, out, object, &out_cursor, &out_key, &out_value));
}

/* In front of the arguments or the body, and behind, nothing is exchanged. */
static void check_message(struct pair *pair, size_t in_len, size_t out_len)
{
    const struct envelope *was = pair->envelope;
    struct envelope now, moved;
    const char *problem;
    check(envelope_read(&now, pair->out, out_len, &problem) == 0);
    envelope_moved(was, in_len, pair->out, out_len, &moved);
    check(memcmp(&now, &moved, sizeof now) == 0);
    struct span in = was->kind == DAP_REQUEST ? was->arguments : was->body,
                out = was->kind == DAP_REQUEST ? now.arguments : now.body;
    check(in.at == out.at && memcmp(pair->in, pair->out, in.at) == 0);
    size_t in_end = in.at + in.len, out_end = out.at + out.len;
    check(in_len - in_end == out_len - out_end);
    check(memcmp(pair->in + in_end, pair->out + out_end, in_len - in_end) == 0);
    check_value(pair, "", in, out);
}

/* --- both directions --- */

static void check_out(uint32_t slot, const char *text, size_t len, const struct envelope *envelope)
{
    struct buf out = {0}, again = {0};
    struct idmap *map = idmap_create();
    struct pair pair = {.map = map, .envelope = envelope, .slot = slot, .in = text, .out = text};
    bool changed = id_rewrite_out(map, slot, 3, text, len, envelope, &out);
    if (changed) {
        pair.out = out.data;
        check(id_rewrite_applies(envelope->kind, envelope->name));
        check(id_rewrite_out(map, slot, 4, text, len, envelope, &again));
        check(again.len == out.len && memcmp(again.data, out.data, out.len) == 0);
    } else {
        check(!out.len);
    }
    check_message(&pair, len, changed ? out.len : len);
    check(pair.changed == changed);
    idmap_drop(map, slot);
    check(idmap_count(map) == 0);
    idmap_destroy(&map);
    buf_free(&out);
    buf_free(&again);
}

enum { OWN = 10 };

static void check_in(const struct idmap *map, const char *text, size_t len,
                     const struct envelope *envelope)
{
    struct buf out = {0};
    struct idmap_entry to;
    enum id_route route = id_rewrite_in(map, text, len, envelope, &to, &out);
    if (route == ID_ROUTE_SLOT) {
        struct pair pair = {
            .map = map, .envelope = envelope, .slot = to.slot, .in = text, .out = out.data};
        check_message(&pair, len, out.len);
    } else {
        check(!out.len);
    }
    buf_free(&out);
}

/* Writes the session's ids for "@0" to "@9": even ones are slot 1's, odd ones slot 2's. */
static void expand(const char *data, size_t size, struct buf *out)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '@' && i + 1 < size && data[i + 1] >= '0' && data[i + 1] <= '9')
            buf_printf(out, "%d", ID_FIRST_MAPPED + data[++i] - '0');
        else
            buf_add(out, data + i, 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text = {0};
    struct envelope envelope;
    const char *problem;
    expand((const char *)data, size, &text);
    char *exact = mem_alloc(text.len); /* without the NUL, so that a read behind it is seen */
    if (text.len)
        memcpy(exact, text.data, text.len);
    if (envelope_read(&envelope, exact, text.len, &problem) == 0) {
        struct idmap *map = idmap_create();
        for (int kind = 0; kind < ID_KIND_COUNT; kind++)
            for (int64_t id = 0; id < OWN; id++)
                idmap_out(map, 1 + (uint32_t)id % 2, (enum id_kind)kind, 100 + id, id % 3);
        if (envelope.kind == DAP_REQUEST) {
            check_in(map, exact, text.len, &envelope);
        } else {
            check_out(1, exact, text.len, &envelope);
            check_out(0, exact, text.len, &envelope);
        }
        idmap_destroy(&map);
    }
    free(exact);
    buf_free(&text);
    return 0;
}
