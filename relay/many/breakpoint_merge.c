#include "relay/many/breakpoint_merge.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One debuggee's state of one entry. */
struct word {
    int64_t foreign; /* the debuggee's id of it, or 0 */
    bool verified;
    char *rest; /* `,"line":5,…`: the members to pass on; or NULL */
};

struct answer {
    uint32_t slot;
    bool failed;
    bool gone;          /* the debuggee is gone; kept until another one answers */
    struct word *words; /* one for each entry */
};

struct entry {
    int64_t id;
    char *line; /* the `line` that was asked for, as JSON, or NULL */
    char *told; /* what the client was told last, or NULL */
};

struct breakpoint_merge {
    char *command;
    char *arguments;
    char *key; /* the source's path or reference */
    struct entry *entries;
    size_t count;
    struct answer *answers; /* in the order of each debuggee's first answer */
    size_t answer_count;
    char *failure;  /* the message of the first failure */
    bool optional;  /* the response need not have `breakpoints` */
    bool has_array; /* a debuggee's response had them */
};

/* The arrays of the arguments that have the entries, in the order of the response. */
static const struct arrays {
    const char *command; /* NULL: any other */
    const char *names[3];
    const char *instead; /* if there is none of these */
    bool optional;
} arrays[] = {
    {"setBreakpoints", {"breakpoints"}, "lines", false},
    {"setExceptionBreakpoints", {"filters", "filterOptions", "exceptionOptions"}, NULL, true},
    {NULL, {"breakpoints"}, NULL, false},
};

static const struct arrays *arrays_of(const char *command)
{
    const struct arrays *row = arrays;
    while (row->command && !text_equal(row->command, command))
        row++;
    return row;
}

/* --- the request --- */

static bool find_array(const char *json, struct span object, const char *name, struct span *array)
{
    return name && object.len && scan_find(json, object, name, array) && json[array->at] == '[';
}

static char *copy_span(const char *json, struct span at)
{
    return mem_string_n(json + at.at, at.len);
}

static void add_entry(struct breakpoint_merge *set, struct idmap *ids, const char *json,
                      struct span item)
{
    struct span line;
    int64_t number;
    set->entries = mem_resize(set->entries, set->count + 1, sizeof *set->entries);
    struct entry *entry = &set->entries[set->count++];
    *entry = (struct entry){.id = idmap_number(ids, ID_BREAKPOINT)};
    if (scan_integer(json, item, &number)) /* an element of `lines` */
        entry->line = copy_span(json, item);
    else if (scan_find(json, item, "line", &line) && scan_integer(json, line, &number))
        entry->line = copy_span(json, line);
}

static bool add_entries(struct breakpoint_merge *set, struct idmap *ids, const char *json,
                        struct span arguments, const char *name)
{
    struct span array, item;
    size_t cursor = 0;
    if (!find_array(json, arguments, name, &array))
        return false;
    while (scan_element(json, array, &cursor, &item))
        add_entry(set, ids, json, item);
    return true;
}

static char *source_key(const char *json, struct span arguments)
{
    struct span at;
    char *path = scan_string_at(json, arguments, "source/path");
    if (!path && arguments.len && scan_path(json, arguments, "source/sourceReference", &at))
        path = copy_span(json, at);
    return path ? path : mem_string("");
}

struct breakpoint_merge *breakpoint_merge_create(struct idmap *ids, const char *json,
                                                 const struct envelope *request)
{
    struct breakpoint_merge *set = mem_alloc(sizeof *set);
    const struct arrays *row = arrays_of(request->name);
    struct span arguments = request->arguments;
    bool found = false;
    set->command = mem_string(request->name);
    set->arguments = arguments.len ? copy_span(json, arguments) : mem_string("{}");
    set->key = source_key(json, arguments);
    set->optional = row->optional;
    for (size_t i = 0; i < sizeof row->names / sizeof *row->names; i++)
        found |= add_entries(set, ids, json, arguments, row->names[i]);
    if (!found)
        add_entries(set, ids, json, arguments, row->instead);
    return set;
}

static void answer_clear(const struct breakpoint_merge *set, struct answer *answer)
{
    for (size_t i = 0; i < set->count; i++)
        free(answer->words[i].rest);
    free(answer->words);
}

void breakpoint_merge_destroy(struct breakpoint_merge **set)
{
    struct breakpoint_merge *it = *set;
    if (!it)
        return;
    *set = NULL;
    for (size_t i = 0; i < it->answer_count; i++)
        answer_clear(it, &it->answers[i]);
    for (size_t i = 0; i < it->count; i++) {
        free(it->entries[i].line);
        free(it->entries[i].told);
    }
    free(it->answers);
    free(it->entries);
    free(it->command);
    free(it->arguments);
    free(it->key);
    free(it->failure);
    free(it);
}

const char *breakpoint_merge_command(const struct breakpoint_merge *set)
{
    return set->command;
}

const char *breakpoint_merge_arguments(const struct breakpoint_merge *set)
{
    return set->arguments;
}

size_t breakpoint_merge_count(const struct breakpoint_merge *set)
{
    return set->count;
}

int64_t breakpoint_merge_id(const struct breakpoint_merge *set, size_t index)
{
    return set->entries[index].id;
}

bool breakpoint_merge_replaces(const struct breakpoint_merge *later,
                               const struct breakpoint_merge *earlier)
{
    return text_equal(later->command, earlier->command) && text_equal(later->key, earlier->key);
}

/* --- answers --- */

/* True if the member is passed on. A source that only this debuggee can show is not. */
static bool passes(const char *json, struct span key, struct span value)
{
    static const char *const members[] = {"line",    "column", "endLine", "endColumn",
                                          "message", "reason", "offset",  "instructionReference",
                                          "source"};
    struct span reference;
    int64_t number = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (scan_key_is(json, key, members[i]))
            return json[value.at] != '{' ||
                   !scan_find(json, value, "sourceReference", &reference) ||
                   (scan_integer(json, reference, &number) && number == 0);
    return false;
}

static void add_member(struct buf *out, const char *json, struct span key, struct span value)
{
    buf_add_string(out, ",");
    buf_add(out, json + key.at, key.len);
    buf_add_string(out, ":");
    buf_add(out, json + value.at, value.len);
}

static void word_read(struct word *word, const char *json, struct span breakpoint)
{
    struct span key, value;
    struct buf rest = {0};
    size_t cursor = 0;
    *word = (struct word){0};
    if (json[breakpoint.at] != '{')
        return;
    while (scan_member(json, breakpoint, &cursor, &key, &value)) {
        if (scan_key_is(json, key, "verified"))
            scan_boolean(json, value, &word->verified);
        else if (scan_key_is(json, key, "id"))
            scan_integer(json, value, &word->foreign);
        else if (passes(json, key, value))
            add_member(&rest, json, key, value);
    }
    word->rest = buf_take(&rest);
}

static struct answer *answer_of(const struct breakpoint_merge *set, uint32_t slot)
{
    for (size_t i = 0; i < set->answer_count; i++)
        if (set->answers[i].slot == slot && !set->answers[i].gone)
            return &set->answers[i];
    return NULL;
}

static void answer_remove(struct breakpoint_merge *set, struct answer *answer)
{
    size_t index = (size_t)(answer - set->answers);
    answer_clear(set, answer);
    invariant(set->answer_count > 0);
    set->answer_count--;
    memmove(answer, answer + 1, (set->answer_count - index) * sizeof *answer);
}

static struct answer *answer_new(struct breakpoint_merge *set, uint32_t slot)
{
    struct answer *answer = answer_of(set, slot);
    if (set->answer_count && set->answers[0].gone)
        answer_remove(set, &set->answers[0]);
    if (answer) {
        answer_clear(set, answer);
    } else {
        set->answers = mem_resize(set->answers, set->answer_count + 1, sizeof *set->answers);
        answer = &set->answers[set->answer_count++];
    }
    *answer = (struct answer){.slot = slot, .words = mem_array(set->count, sizeof *answer->words)};
    return answer;
}

/* Marks the answer as failed and gives its entries the debuggee's message. */
static void note_failure(struct breakpoint_merge *set, struct answer *answer, const char *json,
                         const struct envelope *response)
{
    char *why = response ? scan_string(json, response->message) : NULL;
    answer->failed = true;
    for (size_t i = 0; why && i < set->count; i++) {
        struct buf rest = {0};
        buf_add_string(&rest, ",\"message\":");
        message_quote(&rest, why);
        answer->words[i].rest = buf_take(&rest);
    }
    if (!set->failure)
        set->failure = why;
    else
        free(why);
}

void breakpoint_merge_answer(struct breakpoint_merge *set, struct idmap *ids, uint32_t slot,
                             const char *json, const struct envelope *response)
{
    struct answer *answer = answer_new(set, slot);
    struct span array, item;
    size_t cursor = 0;
    if (!response || !response->success) {
        note_failure(set, answer, json, response);
        return;
    }
    if (!find_array(json, response->body, "breakpoints", &array))
        return;
    set->has_array = true;
    for (size_t i = 0; i < set->count && scan_element(json, array, &cursor, &item); i++) {
        word_read(&answer->words[i], json, item);
        idmap_alias(ids, slot, ID_BREAKPOINT, answer->words[i].foreign, set->entries[i].id);
    }
}

bool breakpoint_merge_event(struct breakpoint_merge *set, uint32_t slot, const char *json,
                            const struct envelope *event)
{
    struct answer *answer = answer_of(set, slot);
    struct span breakpoint, at;
    int64_t id;
    if (!answer || !event->body.len || !scan_find(json, event->body, "breakpoint", &breakpoint) ||
        !scan_integer_at(json, breakpoint, "id", &id) || id == 0)
        return false;
    bool removed =
        scan_find(json, event->body, "reason", &at) && scan_string_is(json, at, "removed");
    bool mine = false;
    for (size_t i = 0; i < set->count; i++) { /* entries may share a breakpoint */
        struct word *word = &answer->words[i];
        if (word->foreign != id)
            continue;
        free(word->rest);
        word_read(word, json, breakpoint);
        word->verified = word->verified && !removed;
        mine = true;
    }
    return mine;
}

void breakpoint_merge_gone(struct breakpoint_merge *set, uint32_t slot)
{
    struct answer *answer = answer_of(set, slot);
    if (answer && set->answer_count > 1)
        answer_remove(set, answer);
    else if (answer)
        answer->gone = true;
}

/* --- for the client --- */

/* The first debuggee that has verified the entry; else the first one that says why not. */
static const struct word *choose(const struct breakpoint_merge *set, size_t index)
{
    const struct word *said = NULL;
    for (size_t i = 0; i < set->answer_count; i++) {
        const struct word *word = &set->answers[i].words[index];
        if (word->verified)
            return word;
        if (!said && word->rest && *word->rest)
            said = word;
    }
    return said;
}

static char *describe(const struct breakpoint_merge *set, size_t index)
{
    static const char nobody[] = ",\"message\":\"No task has it yet.\"";
    const struct entry *entry = &set->entries[index];
    const struct word *word = choose(set, index);
    const char *rest = word ? word->rest : nobody;
    struct buf out = {0};
    buf_printf(&out, "{\"id\":%" PRId64 ",\"verified\":%s", entry->id,
               word && word->verified ? "true" : "false");
    if (entry->line && !strstr(rest, ",\"line\":"))
        buf_printf(&out, ",\"line\":%s", entry->line);
    buf_printf(&out, "%s}", rest);
    return buf_take(&out);
}

void breakpoint_merge_body(struct breakpoint_merge *set, struct buf *out)
{
    bool array = set->has_array || !set->optional;
    buf_add_string(out, array ? "{\"breakpoints\":[" : "{");
    for (size_t i = 0; i < set->count; i++) {
        struct entry *entry = &set->entries[i];
        free(entry->told);
        entry->told = array ? describe(set, i) : NULL;
        if (array)
            buf_printf(out, "%s%s", i ? "," : "", entry->told);
    }
    buf_add_string(out, array ? "]}" : "}");
}

const char *breakpoint_merge_failure(const struct breakpoint_merge *set)
{
    for (size_t i = 0; i < set->answer_count; i++)
        if (!set->answers[i].failed)
            return NULL;
    return set->answer_count ? (set->failure ? set->failure : "no task has answered") : NULL;
}

bool breakpoint_merge_next_event(struct breakpoint_merge *set, struct buf *out)
{
    for (size_t i = 0; i < set->count; i++) {
        struct entry *entry = &set->entries[i];
        char *now = entry->told ? describe(set, i) : NULL;
        if (text_equal(now, entry->told)) {
            free(now);
            continue;
        }
        free(entry->told);
        entry->told = now;
        buf_printf(out, "{\"reason\":\"changed\",\"breakpoint\":%s}", now);
        return true;
    }
    return false;
}
