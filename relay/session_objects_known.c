#include "relay/session_objects_known.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/bytes.h"

#include <stdlib.h>
#include <string.h>

/* What a person opens in one stop is far below; and a name list is for a row's left column. */
enum { ROWS_LIMIT = 16384, RUNS_LIMIT = 256, NAMES_LIMIT = 4096, NAMES_LENGTH = 96 };

static struct id_key object_key(const struct object_id *id)
{
    return id_key(id->bytes, sizeof id->bytes);
}

static void forget_names(struct known *known)
{
    size_t cursor = 0;
    for (void *names; (names = object_table_next(&known->by_object, &cursor));)
        free(names);
    object_table_clear(&known->by_object);
}

void known_clear(struct known *known)
{
    forget_names(known);
    for (size_t i = 0; i < known->count; i++)
        free(known->rows[i].evaluate_name);
    free(known->rows);
    free(known->runs);
    free(known->slots);
    id_map_clear(&known->numbers);
    free(known->numbered);
    *known = (struct known){.changes = known->changes + 1};
}

/* --- references --- */

/* debugpy counts references up, and rows come in that order: NEAR of them share a line of memory.
 */
static size_t slot_of(const struct known *known, int64_t reference)
{
    enum { NEAR = 16 };
    uint64_t number = (uint64_t)reference;
    size_t at = (hash_number(number / NEAR) * NEAR + number % NEAR) & (known->slot_count - 1);
    while (known->slots[at] && known->rows[known->slots[at] - 1].reference != reference)
        at = (at + 1) & (known->slot_count - 1);
    return at;
}

struct known_row *known_find(const struct known *known, int64_t reference)
{
    /* debugpy counts up: what is new is above. */
    bool maybe = known->count && reference <= known->highest;
    uint32_t place = maybe ? known->slots[slot_of(known, reference)] : 0;
    return place ? &known->rows[place - 1] : NULL;
}

static void grow_rows(struct known *known)
{
    enum { LEAST = 16 };
    size_t room = known->slot_count ? known->slot_count : LEAST;
    known->rows = mem_resize(known->rows, room, sizeof *known->rows);
    free(known->slots);
    known->slot_count = 2 * room;
    known->slots = mem_array(known->slot_count, sizeof *known->slots);
    for (size_t i = 0; i < known->count; i++)
        known->slots[slot_of(known, known->rows[i].reference)] = (uint32_t)i + 1;
}

/* The row of a reference, a new one if need be; NULL if there are too many. */
static struct known_row *get_row(struct known *known, int64_t reference)
{
    struct known_row *row = known_find(known, reference);
    if (row || known->count == ROWS_LIMIT)
        return row;
    if (!known->rows || 2 * known->count == known->slot_count)
        grow_rows(known);
    size_t slot = slot_of(known, reference);
    row = &known->rows[known->count++];
    known->slots[slot] = (uint32_t)known->count;
    *row = (struct known_row){.reference = reference};
    if (known->count == 1 || reference > known->highest)
        known->highest = reference;
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
        known->changes++;
        return;
    }
    if (run_frame(known, reference) == frame || known->run_count == RUNS_LIMIT)
        return;
    known->changes++;
    if (!known->runs || (known->run_count & (known->run_count - 1)) == 0)
        known->runs = mem_resize(known->runs, known->run_count ? known->run_count * 2 : 1,
                                 sizeof *known->runs);
    known->runs[known->run_count++] = (struct known_run){reference, reference, frame};
}

void known_inherit(struct known *known, const char *json, size_t len, int64_t frame)
{
    static const char member[] = "\"variablesReference\":";
    /* Not parsed: in a string the quote before the colon would be escaped. */
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
        return; /* as most that is asked for again */
    for (int64_t reference = first; reference <= last; reference++)
        add_to_run(known, reference, frame);
}

/* --- numbers --- */

size_t known_number(struct known *known, const struct object_id *id)
{
    struct id_key key = object_key(id);
    const uint64_t *number = id_map_get(&known->numbers, &key);
    size_t count = known->numbers.count;
    if (number)
        return *number;
    if (!id_map_set(&known->numbers, &key, count + 1, KNOWN_NUMBERS))
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

static bool has_name(const char *names, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at += len)
        if ((at == names || at[-1] == ' ') && (at[len] == '\0' || at[len] == ','))
            return true;
    return false;
}

/* A variable that holds the object, or, `within`, a container with it: of those is spoken while no
 * variable is known. */
static char *join_names(const char *old, const char *name, bool within)
{
    if (old && !within && strcmp(old, name) == 0)
        return NULL;
    bool old_within = old && text_starts(old, "in ");
    if (!old || (old_within && !within))
        return mem_format("%s%s", within ? "in " : "", name);
    if (within != old_within || strlen(old) + strlen(name) > NAMES_LENGTH || has_name(old, name))
        return NULL;
    return mem_format("%s, %s", old, name);
}

static void note_name(struct known *known, const struct object_id *id, const char *name,
                      bool within)
{
    char *old = object_table_get(&known->by_object, id);
    if (!old && known->by_object.map.count == NAMES_LIMIT)
        return;
    char *names = *name ? join_names(old, name, within) : NULL;
    if (!names)
        return;
    known->changes++;
    object_table_set(&known->by_object, id, names);
    free(old);
}

const char *known_names(const struct known *known, const struct object_id *id)
{
    return object_table_get(&known->by_object, id);
}

/* --- rows --- */

void known_note(struct known *known, const struct annotate_seen *seen, int64_t frame)
{
    if (seen->kind == ANNOTATE_REF)
        note_name(known, &seen->id, *seen->evaluate_name ? seen->evaluate_name : seen->name,
                  !seen->reference);
    if (!seen->reference || (seen->kind != ANNOTATE_REF && seen->kind != ANNOTATE_ARRAY))
        return;
    struct known_row *row = get_row(known, seen->reference);
    if (!row)
        return;
    bool is_ref = seen->kind == ANNOTATE_REF;
    known->changes += row->frame != frame || row->is_ref != is_ref ||
                      memcmp(&row->id, &seen->id, sizeof row->id) != 0;
    row->frame = frame;
    row->is_ref = is_ref;
    row->id = seen->id;
    if (seen->kind != ANNOTATE_ARRAY || text_equal(row->evaluate_name, seen->evaluate_name))
        return;
    known->changes++;
    row->is_array = true;
    free(row->evaluate_name);
    row->evaluate_name = mem_string(seen->evaluate_name);
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
    known->changes++;
    known->views -= row->view == VIEW_OF;
    known->views += id != NULL;
    row->view = id ? VIEW_OF : VIEW_OF_NOTHING;
    if (id)
        row->view_of = *id;
}

void known_forget_view(struct known *known, int64_t reference)
{
    struct known_row *row = known_find(known, reference);
    if (!row)
        return;
    known->changes++;
    known->views -= row->view == VIEW_OF;
    row->view = VIEW_NOT_ASKED;
}

void known_changed(struct known *known)
{
    known->changes++;
    forget_names(known);
    for (size_t i = 0; i < known->count; i++)
        known->rows[i].view = VIEW_NOT_ASKED;
    known->views = 0;
}
