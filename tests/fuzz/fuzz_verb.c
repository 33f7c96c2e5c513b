/* A line that a user types or an editor sends: in the console, and as a verb over many tasks; a
 * custom request's arguments, if it begins with '{'. */
#include "fuzz.h"

#include "base/mem.h"
#include "cli/console/console_parse.h"
#include "relay/verbs/verb.h"

static const char *const names[] = {"left", "right", "ranks-0"};
static const struct verb_groups groups = {names, 3};

static void check_verb(const struct verb *verb)
{
    check(verb->name && verb->line >= 0 && verb->skip >= 0 && verb->timeout_ms >= 0);
    check(verb->kind != VERB_STEP || verb->how);
    check(!verb->file || verb->line > 0);
    check(verb->kind != VERB_COMPARE || verb->expression);
    for (size_t i = 0; i < verb->word_count; i++)
        check(verb->words[i]);
}

static void on_word(void *arg, const char *word)
{
    (void)arg;
    check(word[0]);
}

static void try_slash(const char *text)
{
    struct verb verb = {0};
    struct err err = {0};
    char *line = mem_format("/%s", text + (text[0] == '/'));
    if (verb_parse(line, &groups, &verb, &err) == 0)
        check_verb(&verb);
    else
        check(err.what[0]);
    verb_clear(&verb);
    verb_complete(line, &groups, on_word, NULL);
    free(line);
}

static void try_request(const char *json, size_t len)
{
    static const char *const commands[] = {"raydbg/barrier", "raydbg/compare", "raydbg/group",
                                           "raydbg/groups",  "raydbg/step",    "raydbg/stacks",
                                           "raydbg/continue"};
    struct scan scan;
    struct span all;
    scan_init(&scan, json, len);
    if (!scan_value(&scan, &all) || !scan_end(&scan))
        return;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct verb verb = {0};
        struct err err = {0};
        bool known = false;
        int rc = verb_read(commands[i], json, all, &verb, &known, &err);
        if (rc == 0 && known)
            check_verb(&verb);
        check(rc == 0 || err.what[0]);
        verb_clear(&verb);
    }
}

static void try_location(const char *text)
{
    char *file = NULL;
    int64_t line, first, last;
    struct location location = {0};
    struct err err = {0};
    if (verb_location(text, &file, &line)) {
        check(file[0] && line > 0);
        free(file);
    }
    if (location_read(&location, text, &err) == 0)
        check(location.line > 0 || location.function);
    else
        check(err.what[0]);
    location_clear(&location);
    if (parse_range(text, 11, &first, &last))
        check(first <= last);
}

static void try_console(const char *text)
{
    struct command_line line = {0};
    command_line_read(&line, text);
    check(line.argument);
    if (line.verb)
        check(console_verb_find(line.verb->name, strcspn(line.verb->name, " ")) == line.verb);
    try_location(line.argument);
    command_line_clear(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_string_n((const char *)data, size);
    try_slash(text);
    try_console(text);
    if (size && data[0] == '{')
        try_request(text, strlen(text));
    free(text);
    return 0;
}
