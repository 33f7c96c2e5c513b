/* Whatever the bytes: what is annotated is JSON and equals the input but for what was put in, once;
 * what is stripped is JSON and has nothing more to strip. The input is a message, or (by its first
 * byte) a value of one of several types within one, or what an edit box sends. */
#include "fuzz.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/annotate/annotate.h"
#include "relay/annotate/annotate_scan.h"

/* --- what is known: by the id's last bytes; the words are the input's own --- */

static char words[48];

static bool object(void *arg, const struct object_id *id, struct object_note *out)
{
    (void)arg;
    uint8_t last = id->bytes[ID_OBJECT_BYTES - 1];
    if (last == 0xFF)
        return false;
    out->state = (enum object_state)(last % (OBJECT_STATE_LOST + 1));
    out->size = last % 7 == 6 ? -1 : (int64_t)last << (last % 56);
    out->owner_pid = last % 5;
    out->owner_node = last & 1 ? words : "n";
    out->status = last & 2 ? words : NULL;
    return true;
}

static bool actor(void *arg, const char *actor_id, struct actor_note *out)
{
    (void)arg;
    if (actor_id[0] == 'f')
        return false;
    out->pid = actor_id[1] == '1';
    text_copy(out->class_name, sizeof out->class_name, actor_id[0] == '1' ? "" : "H");
    text_copy(out->name, sizeof out->name, actor_id[2] == '1' ? words : "");
    text_copy(out->node, sizeof out->node, actor_id[3] == '1' ? words : "");
    text_copy(out->state, sizeof out->state, "ALIVE");
    return true;
}

static void seen(void *arg, const struct annotate_seen *row)
{
    size_t *count = arg;
    *count += row->name.len + row->evaluate_name.len + strlen(row->actor_id) + 1;
}

/* --- the same but for insertions --- */

struct side {
    const char *text;
    struct span at;
};

static bool same_bytes(struct side in, struct side out)
{
    return in.at.len == out.at.len &&
           memcmp(in.text + in.at.at, out.text + out.at.at, in.at.len) == 0;
}

/* A separator stands between what was put in and what was there. */
static void check_string(struct side in, struct side out)
{
    static const char separator[] = " \xC2\xB7 ";
    size_t tail = in.at.len - 1, len = sizeof separator - 1;
    check(out.at.len >= in.at.len + len);
    const char *end = out.text + out.at.at + out.at.len;
    check(memcmp(end - tail, in.text + in.at.at + 1, tail) == 0);
    check(memcmp(end - tail - len, separator, len) == 0);
}

static void check_same(struct side in, struct side out);

static bool next(struct side side, bool object_like, size_t *cursor, struct span *key,
                 struct span *value)
{
    *key = (struct span){0, 0};
    return object_like ? scan_member(side.text, side.at, cursor, key, value)
                       : scan_element(side.text, side.at, cursor, value);
}

/* What was put in is behind all that was there. */
static void check_items(struct side in, struct side out, bool object_like)
{
    size_t in_cursor = 0, out_cursor = 0, extra = 0;
    struct span in_key, out_key, in_value, out_value;
    while (next(in, object_like, &in_cursor, &in_key, &in_value)) {
        check(next(out, object_like, &out_cursor, &out_key, &out_value));
        check(same_bytes((struct side){in.text, in_key}, (struct side){out.text, out_key}));
        check_same((struct side){in.text, in_value}, (struct side){out.text, out_value});
    }
    for (; next(out, object_like, &out_cursor, &out_key, &out_value); extra++) {
        if (!object_like)
            check(scan_string_is(out.text, out_value, "readOnly"));
        else
            check(scan_key_is(out.text, out_key, "presentationHint") ||
                  scan_key_is(out.text, out_key, "attributes"));
    }
    check(extra <= 1);
}

static void check_same(struct side in, struct side out)
{
    char c = in.text[in.at.at];
    check(c == out.text[out.at.at]);
    if (same_bytes(in, out))
        return;
    check(c == '"' || c == '{' || c == '[');
    if (c == '"')
        check_string(in, out);
    else
        check_items(in, out, c == '{');
}

/* Every byte is still there, in its order. */
static void check_bytes(const char *in, size_t in_len, const char *out, size_t out_len)
{
    size_t at = 0;
    for (size_t i = 0; i < out_len && at < in_len; i++)
        at += in[at] == out[i];
    check(at == in_len);
}

/* --- the functions --- */

static struct span whole_of(const char *text, size_t len)
{
    struct scan scan;
    struct span value;
    scan_init(&scan, text, len);
    check(scan_value(&scan, &value) && scan_end(&scan));
    return value;
}

static void check_annotated(const char *command, const char *text, size_t len,
                            const struct envelope *envelope, const struct annotate_options *options)
{
    struct buf out = {0}, again = {0};
    size_t count = 0, count_again = 0;
    struct envelope annotated;
    const char *problem;
    struct annotate_source source = {object, actor, seen, NULL, &count};
    if (!annotate_response(command, text, len, envelope, options, &source, &out)) {
        check(!out.len);
        buf_free(&out);
        return;
    }
    check(!options->off && count > 0);
    check_same((struct side){text, whole_of(text, len)},
               (struct side){out.data, whole_of(out.data, out.len)});
    check_bytes(text, len, out.data, out.len);
    check(scan_strict(text, len, &problem) == scan_strict(out.data, out.len, &problem));
    /* Python escapes no letter. */
    if (!memmem(text, len, "\\u", 2))
        check(annotate_applies(text, len));
    check(envelope_read(&annotated, out.data, out.len, &problem) == 0);
    source.arg = &count_again;
    check(!annotate_response(command, out.data, out.len, &annotated, options, &source, &again));
    buf_free(&out);
    buf_free(&again);
}

/* Annotating a response of which only the head was read finds what annotating the checked one does,
 * or that it has to be checked: it is malformed, or its body is not its last member. */
static void check_unchecked(const char *command, const char *text, size_t len)
{
    static const struct annotate_options options = {0};
    struct buf out = {0}, wanted = {0};
    struct envelope head, whole;
    const char *problem;
    size_t count = 0;
    bool checked = false, more = false;
    struct annotate_source source = {object, actor, seen, NULL, &count};
    if (!envelope_read_head(&head, text, len) || !head.body.at)
        return;
    head.body.len = len - head.body.at;
    bool any = annotate_unchecked(command, text, len, &head, &options, &source, &out, &checked);
    bool good = envelope_read(&whole, text, len, &problem) == 0;
    if (good) {
        size_t behind = whole.body.at + whole.body.len;
        more = !head.success || text[whole.body.at] != '{' || whole.body.at != head.body.at ||
               memchr(text + behind, ',', len - behind);
        annotate_response(command, text, len, &whole, &options, &source, &wanted);
    }
    check(checked == (good && !more) && (checked || !any) && any == (out.len > 0));
    if (checked)
        check(out.len == wanted.len && (!any || memcmp(out.data, wanted.data, out.len) == 0));
    buf_free(&out);
    buf_free(&wanted);
}

static void check_stripped(const char *text, size_t len, const struct envelope *envelope)
{
    struct buf out = {0}, again = {0};
    struct envelope stripped;
    const char *problem;
    if (!annotate_strip(text, len, envelope, &out)) {
        check(!out.len);
        buf_free(&out);
        return;
    }
    check(out.len < len);
    check_bytes(out.data, out.len, text, len);
    check(envelope_read(&stripped, out.data, out.len, &problem) == 0);
    check(!annotate_strip(out.data, out.len, &stripped, &again));
    buf_free(&out);
    buf_free(&again);
}

static void check_message(const char *text, size_t len)
{
    static const char *const commands[] = {"variables", "evaluate", "setVariable", "setExpression"};
    static const struct annotate_options variants[] = {{0},
                                                       {.no_size = true, .unit = ANNOTATE_KB},
                                                       {.no_owner = true, .no_state = true},
                                                       {.off = true}};
    struct envelope envelope;
    const char *problem;
    for (size_t i = 0; i < 4; i++)
        check_unchecked(commands[i], text, len);
    if (envelope_read(&envelope, text, len, &problem) != 0)
        return;
    check_stripped(text, len, &envelope);
    for (size_t i = 0; envelope.kind == DAP_RESPONSE && i < 4; i++)
        for (size_t j = 0; j < 4; j++)
            check_annotated(commands[i], text, len, &envelope, &variants[j]);
}

/* --- inputs --- */

static void check_value(const char *type, const char *value)
{
    struct buf text = {0};
    buf_printf(&text,
               "{\"seq\":1,\"type\":\"response\",\"request_seq\":1,\"success\":true,"
               "\"command\":\"x\",\"body\":{\"variables\":[{\"type\":\"%s\",\"value\":",
               type);
    message_quote(&text, value);
    buf_add_string(&text, "}],\"value\":");
    message_quote(&text, value);
    buf_add_string(&text, ",\"result\":");
    message_quote(&text, value);
    buf_printf(&text, ",\"type\":\"%s\"}}", type);
    check_message(text.data, text.len);
    buf_free(&text);
}

static void check_edited(const char *value)
{
    struct buf text = {0};
    buf_add_string(&text, "{\"seq\":1,\"type\":\"request\",\"command\":\"evaluate\",\"arguments\":"
                          "{\"expression\":");
    message_quote(&text, value);
    buf_add_string(&text, "}}");
    check_message(text.data, text.len);
    buf_free(&text);
}

/* In pieces a look finds what it finds in the whole. */
static void check_look(const char *text, size_t size)
{
    struct annotate_scan whole = {0}, pieces = {0};
    annotate_scan_on(&whole, text, size, true);
    check(whole.applies == annotate_applies(text, size));
    for (size_t len = 0, step = size % 37 + 1; len < size; len += step) {
        char *come = mem_string_n(text, len);
        annotate_scan_on(&pieces, come, len, false);
        free(come);
    }
    annotate_scan_on(&pieces, text, size, true);
    check(pieces.applies == whole.applies);
    if (!whole.applies)
        check(pieces.scattered == whole.scattered && pieces.run_count == whole.run_count &&
              memcmp(pieces.runs, whole.runs, sizeof whole.runs) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {"ObjectRef", "ActorHandle", "list", "dict", "defaultdict"};
    enum { TYPES = sizeof types / sizeof *types };
    char *text = malloc(size ? size : 1);
    check(text);
    if (size)
        memcpy(text, data, size);
    char *string = mem_string_n(text, size);
    text_copy(words, sizeof words, size > 60 ? string + size - 40 : string);
    check_look(text, size);
    if (size && *text >= '0' && *text < '0' + TYPES)
        check_value(types[*text - '0'], string + 1);
    else if (size && *text == '=')
        check_edited(string + 1);
    else
        check_message(text, size);
    free(string);
    free(text);
    return 0;
}
