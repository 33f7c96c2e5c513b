#include "relay/variables/variables_seen.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/bytes.h"

#include <stdlib.h>
#include <string.h>

/* Far above what a person opens at one stop; NAMES_LENGTH fits a row's left column. */
enum { ROWS_LIMIT = 16384, RUNS_LIMIT = 256, NAMES_LIMIT = 4096, NAMES_LENGTH = 96 };

static struct id_key object_key(const struct object_id *id)
{
    return id_key(id->bytes, sizeof id->bytes);
}

static void forget_names(struct known *known)
{
    size_t cursor = 0;
    for (void *names; (names = object_id_map_next(&known->by_object, &cursor));)
        free(names);
    object_id_map_clear(&known->by_object);
}

void known_clear(struct known *known)
{
    forget_names(known);
    for (size_t i = 0; i < known->count; i++)
        free(known->rows[i].evaluate_name);
    free(known->rows);
    free(known->runs);
    hash_index_clear(&known->by_reference);
    fixed_map_clear(&known->numbers);
    free(known->numbered);
    *known = (struct known){0};
}

/* --- references --- */

/* debugpy counts references up, and rows come in that order: NEAR of them share a cache line. */
static uint64_t hash_of(int64_t reference)
{
    enum { NEAR = 4 };
    uint64_t number = (uint64_t)reference;
    return hash_number(number / NEAR) * NEAR + number % NEAR;
}

struct known_row *known_find(const struct known *known, int64_t reference)
{
    size_t cursor = 0;
    uintptr_t at;
    /* New references are higher. */
    if (!known->count || reference > known->highest)
        return NULL;
    while (hash_index_next(&known->by_reference, hash_of(reference), &cursor, &at))
        if (known->rows[at].reference == reference)
            return &known->rows[at];
    return NULL;
}

/* Rows that are requested again come in the same order: mostly the next one is it. */
static struct known_row *find_noted(struct known *known, int64_t reference)
{
    struct known_row *row = &known->rows[known->next];
    if (known->next >= known->count || row->reference != reference)
        row = known_find(known, reference);
    if (row)
        known->next = (size_t)(row - known->rows) + 1;
    return row;
}

/* The row of a reference, a new one if need be; NULL if there are too many. */
static struct known_row *get_row(struct known *known, int64_t reference)
{
    enum { LEAST = 16 };
    struct known_row *row = known->count ? find_noted(known, reference) : NULL;
    if (row || known->count == ROWS_LIMIT)
        return row;
    if (known->count == known->room) {
        known->room = known->room ? 2 * known->room : LEAST;
        known->rows = mem_resize(known->rows, known->room, sizeof *known->rows);
    }
    if (!known->count || reference > known->highest)
        known->highest = reference;
    hash_index_add(&known->by_reference, hash_of(reference), known->count);
    row = &known->rows[known->count++];
    *row = (struct known_row){.reference = reference};
    return row;
}

static int64_t run_frame(const struct known *known, int64_t reference)
{
    for (size_t i = known->runs ? known->run_count : 0; i-- > 0;)
        if (reference >= known->runs[i].first && reference <= known->runs[i].last)
            return known->runs[i].frame;
    return 0;
}

int64_t known_frame(const struct known *known, int64_t reference)
{
    const struct known_row *row = known_find(known, reference);
    return row && row->frame ? row->frame : run_frame(known, reference);
}

/* debugpy counts references up: most go to the end of the last run. */
static void add_to_run(struct known *known, int64_t reference, int64_t frame)
{
    struct known_run *last = known->runs ? &known->runs[known->run_count - 1] : NULL;
    if (last && last->frame == frame && reference == last->last + 1) {
        last->last = reference;
        return;
    }
    if (run_frame(known, reference) == frame || known->run_count == RUNS_LIMIT)
        return;
    if (!known->runs || (known->run_count & (known->run_count - 1)) == 0)
        known->runs = mem_resize(known->runs, known->run_count ? known->run_count * 2 : 1,
                                 sizeof *known->runs);
    known->runs[known->run_count++] = (struct known_run){reference, reference, frame};
}

void known_inherit(struct known *known, const char *json, size_t len, int64_t frame)
{
    static const char member[] = "\"variablesReference\":";
    /* Found without a parser: in a string the quote before the colon would be escaped. */
    for (size_t at = 0; (at = bytes_find(json, at, len, member, sizeof member - 1)) < len;) {
        int64_t reference = 0;
        at += sizeof member - 1;
        while (at < len && json[at] == ' ')
            at++;
        for (; at < len && json[at] >= '0' && json[at] <= '9' && reference < INT32_MAX; at++)
            reference = reference * 10 + (json[at] - '0');
        if (reference)
            add_to_run(known, reference, frame);
    }
}

void known_inherit_run(struct known *known, int64_t first, int64_t last, int64_t frame)
{
    const struct known_run *run = known->runs ? &known->runs[known->run_count - 1] : NULL;
    if (run && run->frame == frame && first >= run->first && last <= run->last)
        return; /* so it is with most requests that are repeated */
    for (int64_t reference = first; reference <= last; reference++)
        add_to_run(known, reference, frame);
}

/* --- numbers --- */

size_t known_number(struct known *known, const struct object_id *id)
{
    struct id_key key = object_key(id);
    const uint64_t *number = fixed_map_get(&known->numbers, &key);
    size_t count = known->numbers.count;
    if (number)
        return *number;
    if (!fixed_map_set(&known->numbers, &key, count + 1, KNOWN_NUMBERS))
        return 0;
    if ((count & (count - 1)) == 0)
        known->numbered =
            mem_resize(known->numbered, count ? count * 2 : 1, sizeof *known->numbered);
    known->numbered[count] = *id;
    return count + 1;
}

const struct object_id *known_numbered(const struct known *known, size_t number)
{
    return number && number <= known->numbers.count ? &known->numbered[number - 1] : NULL;
}

/* --- names --- */

static bool has_name(const char *names, struct annotate_name name)
{
    for (const char *at = names; (at = memmem(at, strlen(at), name.at, name.len)); at += name.len)
        if ((at == names || at[-1] == ' ') && (at[name.len] == '\0' || at[name.len] == ','))
            return true;
    return false;
}

static bool is_text(const char *text, struct annotate_name other)
{
    return text && strlen(text) == other.len && memcmp(text, other.at, other.len) == 0;
}

/* Adds the name of a variable that holds the object, or, `within`, of a container with it:
 * containers are named only while no variable is known. NULL: nothing changes. */
static char *join_names(const char *old, struct annotate_name name, bool within)
{
    bool old_within = old && text_starts(old, "in ");
    int len = (int)name.len;
    if (!old || (old_within && !within))
        return mem_format("%s%.*s", within ? "in " : "", len, name.at);
    if (within != old_within || strlen(old) + name.len > NAMES_LENGTH || has_name(old, name))
        return NULL;
    return mem_format("%s, %.*s", old, len, name.at);
}

static void note_name(struct known *known, const struct object_probe *probe,
                      struct annotate_name name, bool within)
{
    char *old = object_id_map_find_next(&known->by_object, probe);
    if (!name.len || (!within && is_text(old, name)) ||
        (!old && known->by_object.map.count == NAMES_LIMIT))
        return;
    char *names = join_names(old, name, within);
    if (!names)
        return;
    object_id_map_set(&known->by_object, &probe->id, names);
    free(old);
}

const char *known_names(const struct known *known, const struct object_id *id)
{
    return object_id_map_get(&known->by_object, id);
}

/* --- rows --- */

void known_note(struct known *known, const struct annotate_seen *seen,
                const struct object_probe *probe, int64_t frame)
{
    if (seen->kind == ANNOTATE_REF)
        note_name(known, probe, seen->evaluate_name.len ? seen->evaluate_name : seen->name,
                  !seen->reference);
    if (!seen->reference || (seen->kind != ANNOTATE_REF && seen->kind != ANNOTATE_ARRAY))
        return;
    struct known_row *row = get_row(known, seen->reference);
    if (!row)
        return;
    bool is_ref = seen->kind == ANNOTATE_REF;
    row->frame = frame;
    row->is_ref = is_ref;
    if (is_ref)
        row->id = seen->id;
    if (seen->kind != ANNOTATE_ARRAY || is_text(row->evaluate_name, seen->evaluate_name))
        return;
    row->is_array = true;
    free(row->evaluate_name);
    row->evaluate_name = mem_string_n(seen->evaluate_name.at, seen->evaluate_name.len);
}

const struct known_row *known_view(const struct known *known, int64_t frame,
                                   const char *evaluate_name)
{
    for (size_t i = 0; i < known->count; i++) {
        const struct known_row *row = &known->rows[i];
        if (row->view == VIEW_OF && row->frame == frame &&
            text_equal(row->evaluate_name, evaluate_name))
            return row;
    }
    return NULL;
}

void known_set_view(struct known *known, int64_t reference, const struct object_id *id)
{
    struct known_row *row = known_find(known, reference);
    if (!row || !row->is_array)
        return;
    known->views -= row->view == VIEW_OF;
    known->views += id != NULL;
    row->view = id ? VIEW_OF : VIEW_OF_NOTHING;
    if (id)
        row->id = *id;
}

void known_forget_view(struct known *known, int64_t reference)
{
    struct known_row *row = known_find(known, reference);
    if (!row)
        return;
    known->views -= row->view == VIEW_OF;
    row->view = VIEW_NOT_ASKED;
}

void known_changed(struct known *known)
{
    forget_names(known);
    for (size_t i = 0; i < known->count; i++)
        known->rows[i].view = VIEW_NOT_ASKED;
    known->views = 0;
}
