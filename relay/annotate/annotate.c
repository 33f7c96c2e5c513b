#include "relay/annotate/annotate.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/bytes.h"
#include "dap/splice.h"
#include "relay/annotate/annotate_row.h"
#include "relay/annotate/annotate_state.h"

#include <stdlib.h>
#include <string.h>

struct work {
    const char *text;
    size_t end; /* of the body */
    const struct annotate_options *options;
    const struct annotate_source *source;
    enum annotate_field value; /* FIELD_VALUE or FIELD_RESULT */
    bool hints;                /* the response may have a presentationHint */
    struct buf *out;
    size_t out_start, done; /* `out`'s length at first; how much of the text is written to it */
    struct annotate_refs refs;
    /* The current row's: */
    int64_t reference;        /* variablesReference; 0: cannot be expanded */
    struct object_note noted; /* `ref_prefix` is made from this; many objects have the same */
    struct buf ref_prefix;    /* escaped */
    struct buf prefix, words, unescaped, type, name, evaluate_name;
    struct edit edits[2]; /* for its value and its hint */
    size_t count;
    struct {
        int64_t first, last; /* 0: none */
    } children;              /* the latest run of references in the rows */
};

/* --- edits --- */

/* `text` is not copied: it must live until the edits are written. */
static void edit_add(struct work *work, size_t at, const char *text, size_t len)
{
    size_t to = work->count++;
    /* The hint may come before the value. */
    if (to && work->edits[0].at.at > at) {
        work->edits[1] = work->edits[0];
        to = 0;
    }
    work->edits[to] = (struct edit){{at, 0}, text, len};
}

/* Writes the text up to the row's last edit with its edits, if there are any. */
static void edits_write(struct work *work)
{
    if (!work->count)
        return;
    size_t end = work->edits[work->count - 1].at.at;
    if (!work->done)
        buf_reserve(work->out, work->end + work->end / 2);
    for (size_t i = 0; i < work->count; i++)
        work->edits[i].at.at -= work->done;
    splice_apply(work->text + work->done, end - work->done, work->edits, work->count, work->out);
    work->done = end;
    work->count = 0;
}

/* Discards everything written so far. */
static void edits_drop(struct work *work)
{
    if (!work->done)
        return;
    work->done = 0;
    work->out->len = work->out_start;
    buf_add(work->out, "", 0);
}

static void edit_insert(struct work *work, size_t at, const char *text)
{
    edit_add(work, at, text, strlen(text));
}

/* Of the bytes of a prefix only quotes and backslashes need an escape. */
static void prefix_escape(const struct buf *prefix, struct buf *out)
{
    out->len = 0;
    for (size_t at = 0; at < prefix->len;) {
        size_t end = bytes_plain_end(prefix->data, at, prefix->len);
        buf_add(out, prefix->data + at, end - at);
        if (end < prefix->len) {
            buf_add(out, "\\", 1);
            buf_add(out, prefix->data + end++, 1);
        }
        at = end;
    }
}

static void edit_escaped(struct work *work, const struct buf *prefix, struct span value)
{
    if (prefix->len)
        edit_add(work, value.at + 1, prefix->data, prefix->len);
}

/* Puts the row's prefix in front of the value. */
static void edit_prefix(struct work *work, struct span value)
{
    prefix_escape(&work->prefix, &work->words);
    edit_escaped(work, &work->words, value);
}

static bool has_read_only(const struct work *work, struct span attributes, bool *empty)
{
    struct span element;
    size_t cursor = 0;
    *empty = true;
    while (scan_element(work->text, attributes, &cursor, &element)) {
        *empty = false;
        if (scan_string_is(work->text, element, "readOnly"))
            return true;
    }
    return false;
}

/* Adds "readOnly". A member of the wrong type gets a duplicate behind it; the last one counts. */
static void edit_hint(struct work *work, const struct annotate_row *row)
{
    struct span hint = row->fields[FIELD_HINT], attributes, key, value;
    bool empty = true;
    if (!hint.len || work->text[hint.at] != '{') {
        edit_insert(work, row->last, ", \"presentationHint\": {\"attributes\": [\"readOnly\"]}");
        return;
    }
    if (scan_find(work->text, hint, "attributes", &attributes) &&
        work->text[attributes.at] == '[') {
        if (!has_read_only(work, attributes, &empty))
            edit_insert(work, attributes.at + attributes.len - 1,
                        empty ? "\"readOnly\"" : ", \"readOnly\"");
        return;
    }
    size_t cursor = 0;
    empty = !scan_member(work->text, hint, &cursor, &key, &value);
    edit_insert(work, hint.at + hint.len - 1,
                empty ? "\"attributes\": [\"readOnly\"]" : ", \"attributes\": [\"readOnly\"]");
}

/* --- values --- */

static struct annotate_name row_text(const struct annotate_row *row, enum annotate_field field,
                                     struct buf *scratch)
{
    struct annotate_name text = {"", 0};
    if (annotate_row_has_string(row, field))
        text.at = annotate_row_content(row, field, scratch, &text.len);
    return text;
}

static void see(struct work *work, const struct annotate_row *row, struct annotate_seen *seen)
{
    if (!work->source->seen)
        return;
    seen->name = row_text(row, FIELD_NAME, &work->name);
    seen->evaluate_name = row_text(row, FIELD_EVALUATE_NAME, &work->evaluate_name);
    seen->reference = work->reference;
    work->source->seen(work->source->arg, seen);
}

static bool object_note(const struct work *work, const struct object_id *id,
                        struct object_note *out)
{
    return work->source->object && work->source->object(work->source->arg, id, out) &&
           out->state != OBJECT_STATE_UNKNOWN;
}

static bool is_same(const struct object_note *a, const struct object_note *b)
{
    return a->state == b->state && a->size == b->size && a->owner_pid == b->owner_pid &&
           text_equal(a->owner_node, b->owner_node) && text_equal(a->status, b->status);
}

static const struct buf *note_prefix(struct work *work, const struct object_note *note)
{
    if (is_same(note, &work->noted))
        return &work->ref_prefix;
    work->noted = *note;
    annotate_object_prefix(note, work->options, &work->prefix);
    prefix_escape(&work->prefix, &work->ref_prefix);
    return &work->ref_prefix;
}

static void row_ref(struct work *work, const struct annotate_row *row, const char *text, size_t len)
{
    struct object_note note;
    struct annotate_seen seen;
    seen.kind = ANNOTATE_REF;
    seen.actor_id[0] = '\0';
    if (len != ANNOTATE_REF_LEN || !annotate_ref_read(text, len, &seen.id))
        return;
    see(work, row, &seen);
    if (work->options->off)
        return;
    if (object_note(work, &seen.id, &note))
        edit_escaped(work, note_prefix(work, &note), row->fields[work->value]);
    if (work->hints)
        edit_hint(work, row);
}

/* `Actor(Class, <32 hex digits>)` */
static bool actor_read(const char *text, size_t len, char *id)
{
    enum { DIGITS = 2 * ID_ACTOR_BYTES };
    static const char start[] = "Actor(", middle[] = ", ";
    size_t head = sizeof start - 1, tail = sizeof middle - 1 + DIGITS + 1;
    if (len <= head + tail || memcmp(text, start, head) != 0 || text[len - 1] != ')' ||
        memcmp(text + len - tail, middle, sizeof middle - 1) != 0)
        return false;
    memcpy(id, text + len - 1 - DIGITS, DIGITS);
    id[DIGITS] = '\0';
    return strspn(id, "0123456789abcdef") == DIGITS;
}

static void row_actor(struct work *work, const struct annotate_row *row, const char *text,
                      size_t len)
{
    struct annotate_seen seen = {.kind = ANNOTATE_ACTOR};
    struct actor_note note = {0};
    if (!actor_read(text, len, seen.actor_id))
        return;
    see(work, row, &seen);
    if (work->options->off || !work->source->actor ||
        !work->source->actor(work->source->arg, seen.actor_id, &note))
        return;
    annotate_actor_prefix(&note, work->options, &work->prefix);
    edit_prefix(work, row->fields[work->value]);
}

static void row_container(struct work *work, const struct annotate_row *row, const char *text,
                          size_t len, bool plain)
{
    struct annotate_seen seen = {.kind = ANNOTATE_CONTAINER};
    struct object_note note;
    int64_t bytes = 0;
    size_t known = 0, unsized = 0;
    if (!annotate_refs_read(text, len, plain, &work->refs) || !work->refs.total)
        return;
    see(work, row, &seen);
    seen.kind = ANNOTATE_REF;
    seen.reference = 0;
    for (size_t i = 0; i < work->refs.count; i++) {
        seen.id = work->refs.ids[i];
        if (work->source->seen)
            work->source->seen(work->source->arg, &seen);
        bool has_note = object_note(work, &seen.id, &note);
        known += has_note;
        if (!has_note || note.size < 0 || __builtin_add_overflow(bytes, note.size, &bytes))
            unsized++;
    }
    if (work->options->off || !known)
        return;
    annotate_refs_prefix(&work->refs, bytes, unsized, work->options, &work->prefix);
    edit_prefix(work, row->fields[work->value]);
}

static bool mentions_ref(const struct work *work, struct span value)
{
    return bytes_find(work->text + value.at, 0, value.len, "ObjectRef(", 10) < value.len;
}

static void row_reference(struct work *work, const struct annotate_row *row)
{
    struct span value = row->fields[FIELD_REFERENCE];
    work->reference = value.len ? row->numbers[FIELD_REFERENCE] : 0;
    if (work->reference < 0 && !scan_integer(work->text, value, &work->reference))
        work->reference = 0;
}

static void children_flush(struct work *work)
{
    if (work->children.last && work->source->children)
        work->source->children(work->source->arg, work->children.first, work->children.last);
    work->children.first = work->children.last = 0;
}

static inline void child_add(struct work *work, int64_t reference)
{
    if (!work->children.last || reference != work->children.last + 1) {
        children_flush(work);
        work->children.first = reference;
    }
    work->children.last = reference;
}

static void row_annotate(struct work *work, const struct annotate_row *row)
{
    struct span value = row->fields[work->value];
    enum annotate_kind kind;
    bool plain = false;
    size_t len;
    if (!annotate_row_has_string(row, work->value) || !annotate_row_has_string(row, FIELD_TYPE))
        return;
    const char *text = annotate_row_content(row, FIELD_TYPE, &work->type, &len);
    if (!annotate_type_kind(text, len, &kind, &plain))
        return;
    work->prefix.len = 0;
    if (kind == ANNOTATE_ARRAY) {
        see(work, row, &(struct annotate_seen){.kind = kind});
        return;
    }
    if (kind == ANNOTATE_CONTAINER && !mentions_ref(work, value))
        return;
    text = annotate_row_content(row, work->value, &work->unescaped, &len);
    if (kind == ANNOTATE_REF)
        row_ref(work, row, text, len);
    else if (kind == ANNOTATE_ACTOR)
        row_actor(work, row, text, len);
    else
        row_container(work, row, text, len, plain);
}

/* --- bodies --- */

/* The functions that read return the offset after what they have read, or 0 if it is malformed. */

static size_t value_end(const struct work *work, size_t at, size_t inside)
{
    struct scan scan;
    struct span value;
    scan_init(&scan, work->text, work->end);
    scan.at = at;
    scan.inside = inside;
    return scan_value(&scan, &value) ? scan.at : 0;
}

/* Message, body: the containers around a body's members. With the array and the row, those around a
 * row's. */
enum { INSIDE_BODY = 2, INSIDE_ROWS = 3, INSIDE_ROW = 4 };

/* `at` is behind a member or an element: moves to the next one and returns true, or behind the
 * container, or to 0. */
static inline bool goes_on(const struct work *work, size_t *at, char close)
{
    *at = bytes_space_end(work->text, *at, work->end);
    char c = '\0';
    if (*at < work->end)
        c = work->text[*at];
    if (c == ',') {
        *at = bytes_space_end(work->text, *at + 1, work->end);
        return true;
    }
    *at = c == close ? *at + 1 : 0;
    return false;
}

/* `at` is at the bracket of an array of rows. */
static size_t rows_annotate(struct work *work, size_t at)
{
    struct annotate_row row = {.text = work->text, .end = work->end, .inside = INSIDE_ROW};
    at = bytes_space_end(work->text, at + 1, work->end);
    if (at < work->end && work->text[at] == ']')
        return at + 1;
    do {
        bool is_row = at < work->end && work->text[at] == '{';
        at = is_row ? annotate_row_read(&row, at) : value_end(work, at, INSIDE_ROWS);
        if (!at)
            return 0;
        if (is_row) {
            row_reference(work, &row);
            if (work->reference > 0)
                child_add(work, work->reference);
            row_annotate(work, &row);
            edits_write(work);
        }
    } while (goes_on(work, &at, ']'));
    children_flush(work);
    return at;
}

/* `at` is at a key of the body. */
static size_t member_annotate(struct work *work, size_t at)
{
    struct span key = {at, 0};
    if (at >= work->end || work->text[at] != '"' || !(at = value_end(work, at, INSIDE_BODY)))
        return 0;
    key.len = at - key.at;
    at = bytes_space_end(work->text, at, work->end);
    if (at == work->end || work->text[at] != ':')
        return 0;
    at = bytes_space_end(work->text, at + 1, work->end);
    bool rows = scan_key_is(work->text, key, "variables");
    /* The last "variables" counts. */
    if (rows)
        edits_drop(work);
    return rows && at < work->end && work->text[at] == '[' ? rows_annotate(work, at)
                                                           : value_end(work, at, INSIDE_BODY);
}

/* Makes one pass: the rows are not scanned again before they are read. */
static size_t variables_annotate(struct work *work, size_t at)
{
    at = bytes_space_end(work->text, at + 1, work->end);
    if (at < work->end && work->text[at] == '}')
        return at + 1;
    while ((at = member_annotate(work, at)) && goes_on(work, &at, '}'))
        ;
    return at;
}

/* The body of another response is a row itself. */
static size_t value_annotate(struct work *work, size_t at)
{
    struct annotate_row row = {.text = work->text, .end = work->end, .inside = INSIDE_BODY};
    at = annotate_row_read(&row, at);
    if (at) {
        row_reference(work, &row);
        row_annotate(work, &row);
        edits_write(work);
    }
    return at;
}

/* True if only the message's closing bracket is behind the body, which ends at `at`. */
static bool is_last(const struct work *work, size_t at)
{
    at = bytes_space_end(work->text, at, work->end);
    return at < work->end && work->text[at] == '}' &&
           bytes_space_end(work->text, at + 1, work->end) == work->end;
}

static const struct command {
    const char *name;
    enum annotate_field value;
    bool hints;
} commands[] = {
    {"evaluate", FIELD_RESULT, true},
    {"setVariable", FIELD_VALUE, false},
    {"setExpression", FIELD_VALUE, true},
    {"variables", FIELD_VALUE, true},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void work_free(struct work *work)
{
    annotate_refs_free(&work->refs);
    buf_free(&work->ref_prefix);
    buf_free(&work->words);
    buf_free(&work->prefix);
    buf_free(&work->unescaped);
    buf_free(&work->type);
    buf_free(&work->name);
    buf_free(&work->evaluate_name);
}

bool annotate_unchecked(const char *command, const char *json, size_t len,
                        const struct envelope *head, const struct annotate_options *options,
                        const struct annotate_source *source, struct buf *out, bool *checked)
{
    const struct command *found = command_find(command);
    struct span body = head->body;
    *checked = false;
    if (!found || !head->success || !body.len || json[body.at] != '{')
        return false;
    struct work work = {.text = json, .end = body.at + body.len};
    work.options = options;
    work.source = source;
    work.value = found->value;
    work.hints = found->hints;
    work.out = out;
    work.out_start = out->len;
    size_t end = strcmp(command, "variables") == 0 ? variables_annotate(&work, body.at)
                                                   : value_annotate(&work, body.at);
    /* A body that envelope_read() has read ends before its message. */
    *checked = end && (work.end < len || is_last(&work, end));
    if (!*checked)
        edits_drop(&work);
    bool any = work.done > 0;
    if (any)
        buf_add(out, json + work.done, len - work.done);
    work_free(&work);
    return any;
}

bool annotate_response(const char *command, const char *json, size_t len,
                       const struct envelope *response, const struct annotate_options *options,
                       const struct annotate_source *source, struct buf *out)
{
    bool checked;
    return annotate_unchecked(command, json, len, response, options, source, out, &checked);
}
