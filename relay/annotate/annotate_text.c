/* The text of annotations. */
#include "relay/annotate/annotate_state.h"

#include "base/text.h"

#include <string.h>

static void add_number(uint64_t number, struct buf *out)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    buf_add(out, digits + at, sizeof digits - at);
}

/* --- sizes --- */

static const struct {
    uint64_t bytes;
    const char *name;
} units[] = {
    {1, " B"}, {1000, " KB"}, {1000000, " MB"}, {1000000000, " GB"}, {1000000000000, " TB"},
};
enum { LAST_UNIT = 4 };

/* `bytes` in units, rounded. */
static uint64_t rounded(uint64_t bytes, uint64_t unit)
{
    return bytes / unit + (bytes % unit >= unit - unit / 2);
}

/* "8.0", "96", "<0.1" */
static void add_amount(uint64_t bytes, unsigned unit, struct buf *out)
{
    uint64_t tenths = unit ? rounded(bytes, units[unit].bytes / 10) : UINT64_MAX;
    if (tenths >= 100) {
        add_number(rounded(bytes, units[unit].bytes), out);
    } else if (tenths == 0 && bytes > 0) {
        buf_add(out, "<0.1", 4);
    } else {
        add_number(tenths / 10, out);
        buf_add(out, ".", 1);
        add_number(tenths % 10, out);
    }
}

static unsigned unit_for(uint64_t bytes)
{
    unsigned unit = 0;
    while (unit < LAST_UNIT && rounded(bytes, units[unit].bytes) >= 1000)
        unit++;
    return unit;
}

/* Puts `more` between number and unit. */
static void add_size(int64_t bytes, enum annotate_unit unit, const char *more, struct buf *out)
{
    if (bytes < 0) {
        buf_add_string(out, "? B");
        return;
    }
    unsigned power = unit == ANNOTATE_AUTO ? unit_for((uint64_t)bytes) : (unsigned)unit - 1;
    add_amount((uint64_t)bytes, power, out);
    buf_add_string(out, more);
    buf_add_string(out, units[power].name);
}

void annotate_size(int64_t bytes, enum annotate_unit unit, struct buf *out)
{
    add_size(bytes, unit, "", out);
}

/* --- text from the cluster --- */

static void add_unclean(struct buf *out, const char *at, size_t size, const void *arg)
{
    bool c1 = size == 2 && at[0] == '\xC2' && (unsigned char)at[1] < 0xA0;
    bool quoted = *(const bool *)arg;
    if (size > 1 && !c1) {
        buf_add(out, at, size);
    } else if (quoted && (*at == '"' || *at == '\\')) {
        buf_add(out, "\\", 1);
        buf_add(out, at, 1);
    } else {
        bool plain = quoted && (*at == '\'' || *at == '#');
        buf_add(out, plain ? at : "?", 1);
    }
}

/* Replaces characters that would confuse a terminal, JSON or annotate_strip() with '?'.
 * annotate_strip() recognises an annotation by having no quote except around a name, and no '#'. */
static void add_text(const char *text, bool quoted, struct buf *out)
{
    text_rewrite(out, text, strlen(text), "\"'#\\", add_unclean, &quoted);
}

static void add_separator(struct buf *out)
{
    buf_add(out, ANNOTATE_SEPARATOR, ANNOTATE_SEPARATOR_LEN);
}

/* --- processes --- */

static void add_process(int64_t pid, const char *node, struct buf *out)
{
    if (pid > 0) {
        buf_add_string(out, "pid ");
        add_number((uint64_t)pid, out);
        if (*node)
            buf_add(out, "@", 1);
    }
    add_text(node, false, out);
}

/* --- objects --- */

void annotate_owner(const struct object_note *note, struct buf *out)
{
    if (note->owner_pid)
        add_process(note->owner_pid, note->owner_node, out);
}

static void add_stored(const struct object_note *note, const struct annotate_options *options,
                       struct buf *out)
{
    size_t start = out->len;
    if (note->size >= 0 && !options->no_size)
        annotate_size(note->size, options->unit, out);
    if (note->state == OBJECT_STATE_SPILLED && !options->no_state)
        buf_add_string(out, out->len > start ? " spilled" : "spilled");
    if (out->len > start)
        add_separator(out);
    if (note->owner_pid && !options->no_owner) {
        annotate_owner(note, out);
        add_separator(out);
    }
}

void annotate_object_prefix(const struct object_note *note, const struct annotate_options *options,
                            struct buf *out)
{
    switch (note->state) {
    case OBJECT_STATE_UNKNOWN:
        return;
    case OBJECT_STATE_READY:
    case OBJECT_STATE_SPILLED:
        add_stored(note, options, out);
        return;
    case OBJECT_STATE_PENDING:
    case OBJECT_STATE_LOST:
        break;
    }
    if (options->no_state)
        return;
    bool lost = note->state == OBJECT_STATE_LOST;
    buf_add_string(out, lost ? "lost" : "pending");
    if (!text_empty(note->status)) {
        buf_add_string(out, lost ? " (" : " ");
        add_text(note->status, false, out);
        buf_add_string(out, lost ? ")" : "");
    }
    add_separator(out);
}

void annotate_object(const struct object_id *id, const struct object_note *note,
                     const struct annotate_options *options, struct buf *out)
{
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    text_hex(id->bytes, sizeof id->bytes, hex);
    if (!options->off)
        annotate_object_prefix(note, options, out);
    buf_add_string(out, "ObjectRef(");
    buf_add(out, hex, sizeof hex - 1);
    buf_add(out, ")", 1);
}

/* --- actors --- */

void annotate_actor_prefix(const struct actor_note *note, const struct annotate_options *options,
                           struct buf *out)
{
    bool process = (note->pid > 0 || note->node[0]) && !options->no_owner;
    bool state = note->state[0] && !options->no_state;
    if (!process && !state && !note->name[0])
        return; /* the value shows its class */
    add_text(note->class_name, false, out);
    if (note->name[0]) {
        buf_add_string(out, note->class_name[0] ? " \"" : "\"");
        add_text(note->name, true, out);
        buf_add(out, "\"", 1);
    }
    if (note->class_name[0] || note->name[0])
        add_separator(out);
    if (process) {
        add_process(note->pid, note->node, out);
        add_separator(out);
    }
    if (state) {
        add_text(note->state, false, out);
        add_separator(out);
    }
}

/* --- containers --- */

void annotate_refs_prefix(const struct annotate_refs *refs, int64_t bytes, size_t unknown,
                          const struct annotate_options *options, struct buf *out)
{
    add_number(refs->total, out);
    buf_add_string(out, refs->cut ? "+" : "");
    buf_add_string(out, refs->total == 1 && !refs->cut ? " ref" : " refs");
    if (!options->no_size && unknown < refs->count) {
        buf_add(out, ", ", 2);
        add_size(bytes, options->unit, unknown || refs->cut ? "+" : "", out);
    }
    add_separator(out);
}
