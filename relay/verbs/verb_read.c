#include "base/mem.h"
#include "base/text.h"
#include "relay/verbs/verb.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The members of a request's arguments, by their meaning for a verb. */
enum member {
    GROUP,
    THREAD_IDS,
    NAME,
    FILTERS,
    HOW,
    LOCATION,
    SKIP,
    EXPRESSION,
    TIMEOUT,
    FULL,
    REMOVE,
};

static const struct request {
    const char *name;
    enum verb_kind kind;
    const char *verb;
    unsigned takes; /* bits of enum member */
    unsigned wants; /* bits of the members that must be present */
} requests[] = {
    {"raydbg/groups", VERB_GROUPS, "groups", 0, 0},
    {"raydbg/group", VERB_GROUP, "group", 1 << NAME | 1 << FILTERS | 1 << THREAD_IDS | 1 << REMOVE,
     1 << NAME},
    {"raydbg/step", VERB_STEP, "step",
     1 << GROUP | 1 << THREAD_IDS | 1 << HOW | 1 << LOCATION | 1 << SKIP | 1 << EXPRESSION,
     1 << HOW},
    {"raydbg/barrier", VERB_BARRIER, "barrier",
     1 << GROUP | 1 << THREAD_IDS | 1 << LOCATION | 1 << TIMEOUT | 1 << REMOVE, 0},
    {"raydbg/compare", VERB_COMPARE, "compare",
     1 << GROUP | 1 << THREAD_IDS | 1 << EXPRESSION | 1 << TIMEOUT, 1 << EXPRESSION},
    {"raydbg/stacks", VERB_STACKS, "stacks", 1 << GROUP | 1 << THREAD_IDS | 1 << FULL, 0},
};

static void add_word(struct verb *out, char *word)
{
    out->words = mem_resize(out->words, out->word_count + 1, sizeof *out->words);
    out->words[out->word_count++] = word;
}

static bool read_text(const char *json, struct span at, char **out)
{
    free(*out);
    *out = scan_string(json, at);
    return !text_empty(*out);
}

/* Makes the filter for these threads: "thread=1,2". */
static bool read_threads(const char *json, struct span at, char **out)
{
    struct buf text = {0};
    struct span item;
    size_t cursor = 0;
    int64_t id;
    bool good = json[at.at] == '[';
    buf_add_string(&text, "thread=");
    while (good && scan_element(json, at, &cursor, &item)) {
        good = scan_integer(json, item, &id) && id > 0;
        buf_printf(&text, text.data[text.len - 1] == '=' ? "%" PRId64 : ",%" PRId64, id);
    }
    good = good && text.data[text.len - 1] != '=';
    free(*out);
    *out = good ? mem_string(text.data) : NULL;
    buf_free(&text);
    return good;
}

static bool read_filters(const char *json, struct span at, struct verb *out)
{
    struct span item;
    size_t cursor = 0;
    bool good = json[at.at] == '[';
    while (good && scan_element(json, at, &cursor, &item)) {
        char *word = scan_string(json, item);
        good = word != NULL;
        if (word)
            add_word(out, word);
    }
    return good && out->word_count;
}

static bool read_how(const char *json, struct span at, struct verb *out)
{
    static const char *const ways[] = {"continue", "next", "stepIn", "stepOut"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (scan_string_is(json, at, ways[i]))
            out->how = ways[i];
    return out->how != NULL;
}

/* "FILE:LINE", or {"path", "line"} as DAP writes locations. */
static bool read_location(const char *json, struct span at, struct verb *out)
{
    struct span path, line;
    char *text = scan_string(json, at);
    free(out->file);
    out->file = NULL;
    bool good = text && verb_location(text, &out->file, &out->line);
    if (!text && json[at.at] == '{' && scan_find(json, at, "path", &path) &&
        scan_find(json, at, "line", &line))
        good = read_text(json, path, &out->file) && scan_integer(json, line, &out->line) &&
               out->line > 0;
    free(text);
    return good;
}

static bool read_count(const char *json, struct span at, struct verb *out)
{
    return scan_integer(json, at, &out->skip) && out->skip >= 0;
}

static bool read_seconds(const char *json, struct span at, struct verb *out)
{
    char text[32];
    char *end;
    if (at.len >= sizeof text || json[at.at] == '"')
        return false;
    memcpy(text, json + at.at, at.len);
    text[at.len] = '\0';
    double seconds = strtod(text, &end);
    if (*end || !(seconds > 0) || seconds > 1e6)
        return false;
    out->timeout_ms = (int64_t)(seconds * 1000) + (seconds < 0.001);
    return true;
}

static bool read_subject(const char *json, struct span at, struct verb *out)
{
    return read_text(json, at, &out->subject);
}

static bool read_thread_ids(const char *json, struct span at, struct verb *out)
{
    char *filter = NULL;
    bool good = read_threads(json, at, &filter);
    if (good && out->kind == VERB_GROUP) {
        add_word(out, filter);
    } else {
        free(out->subject);
        out->subject = filter;
    }
    return good;
}

static bool read_expression(const char *json, struct span at, struct verb *out)
{
    return read_text(json, at, &out->expression);
}

static bool read_full(const char *json, struct span at, struct verb *out)
{
    return scan_boolean(json, at, &out->full);
}

static bool read_remove(const char *json, struct span at, struct verb *out)
{
    return scan_boolean(json, at, &out->remove);
}

static const struct {
    const char *key;
    enum member member;
    bool (*read)(const char *json, struct span at, struct verb *out);
    const char *want;
} members[] = {
    {"group", GROUP, read_subject, "a group's name or a filter"},
    {"threadIds", THREAD_IDS, read_thread_ids, "an array of the session's thread ids"},
    {"name", NAME, read_subject, "a name"},
    {"filters", FILTERS, read_filters, "an array of filters"},
    {"how", HOW, read_how, "\"continue\", \"next\", \"stepIn\" or \"stepOut\""},
    {"until", LOCATION, read_location, "\"FILE:LINE\" or {path, line}"},
    {"place", LOCATION, read_location, "\"FILE:LINE\" or {path, line}"},
    {"skip", SKIP, read_count, "a number of stops"},
    {"expression", EXPRESSION, read_expression, "an expression"},
    {"condition", EXPRESSION, read_expression, "an expression"},
    {"timeout", TIMEOUT, read_seconds, "seconds"},
    {"full", FULL, read_full, "true or false"},
    {"remove", REMOVE, read_remove, "true or false"},
};

static int read_members(const struct request *request, const char *json, struct span arguments,
                        struct verb *out, struct err *err)
{
    unsigned there = 0;
    struct span at;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        unsigned bit = 1U << members[i].member;
        if (!(request->takes & bit) || !arguments.len ||
            !scan_find(json, arguments, members[i].key, &at))
            continue;
        there |= bit;
        if (!members[i].read(json, at, out))
            return err_set(err, ERR_USAGE, "\"%s\" must be %s", members[i].key, members[i].want);
    }
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (request->wants & ~there & 1U << members[i].member)
            return err_set(err, ERR_USAGE, "\"%s\" is missing", members[i].key);
    return 0;
}

int verb_read(const char *command, const char *json, struct span arguments, struct verb *out,
              bool *known, struct err *err)
{
    *out = (struct verb){0};
    *known = false;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (!text_equal(command, requests[i].name))
            continue;
        *known = true;
        out->kind = requests[i].kind;
        out->name = requests[i].verb;
        return read_members(&requests[i], json, arguments, out, err);
    }
    return 0;
}
