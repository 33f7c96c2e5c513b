#include "relay/verbs/verb_table.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void offer(const char *prefix, const char *lead, const char *word, verb_complete_fn fn,
                  void *arg)
{
    char *whole = mem_format("%s%s", lead, word);
    if (text_starts(whole, prefix))
        fn(arg, whole);
    free(whole);
}

static void offer_groups(const char *prefix, const char *lead, const struct verb_groups *groups,
                         verb_complete_fn fn, void *arg)
{
    offer(prefix, lead, "all", fn, arg);
    for (size_t i = 0; i < groups->count; i++)
        offer(prefix, lead, groups->names[i], fn, arg);
}

static void offer_verbs(const char *prefix, const char *lead, unsigned takes, verb_complete_fn fn,
                        void *arg)
{
    for (size_t i = 0; i < VERB_ROWS; i++)
        if ((verb_rows[i].takes & takes) == takes)
            offer(prefix, lead, verb_rows[i].name, fn, arg);
}

static void offer_arguments(const struct verb_row *row, const char *prefix,
                            const struct verb_groups *groups, verb_complete_fn fn, void *arg)
{
    if (row->kind == VERB_HELP)
        offer_verbs(prefix, "", 0, fn, arg);
    if ((row->takes & VERB_TAKES_GROUP) || row->kind == VERB_GROUP)
        offer_groups(prefix, "", groups, fn, arg);
    for (size_t i = 0; text_starts(prefix, "-") && i < VERB_OPTIONS; i++)
        if (row->takes & verb_options[i].bit)
            offer(prefix, "", verb_options[i].name, fn, arg);
    if (text_starts(prefix, "-") && (row->takes & VERB_TAKES_IF))
        offer(prefix, "", "--if", fn, arg);
}

void verb_complete(const char *line, const struct verb_groups *groups, verb_complete_fn fn,
                   void *arg)
{
    const char *blank = strrchr(line, ' ');
    const char *prefix = blank ? blank + 1 : line, *at = line + 1;
    if (!blank) {
        offer_verbs(prefix, "/", 0, fn, arg);
        offer_groups(prefix, "/", groups, fn, arg);
        return;
    }
    char *first = verb_word(&at);
    const struct verb_row *row = verb_row_find(first);
    if (!row && first && verb_is_group(groups, first)) {
        char *second = at + strspn(at, " ") < prefix ? verb_word(&at) : NULL;
        row = verb_row_find(second);
        if (!second)
            offer_verbs(prefix, "", VERB_TAKES_GROUP, fn, arg);
        free(second);
    }
    if (row)
        offer_arguments(row, prefix, groups, fn, arg);
    free(first);
}
