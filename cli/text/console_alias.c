#include "cli/text/console_alias.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

const struct alias *aliases_find(const struct aliases *aliases, const char *name, size_t len)
{
    for (size_t i = 0; i < aliases->count; i++)
        if (strlen(aliases->items[i].name) == len &&
            strncmp(aliases->items[i].name, name, len) == 0)
            return &aliases->items[i];
    return NULL;
}

bool aliases_remove(struct aliases *aliases, const char *name)
{
    const struct alias *found = aliases_find(aliases, name, strlen(name));
    if (!found)
        return false;
    size_t index = (size_t)(found - aliases->items);
    free(aliases->items[index].name);
    free(aliases->items[index].command);
    aliases->count--;
    memmove(&aliases->items[index], &aliases->items[index + 1],
            (aliases->count - index) * sizeof *aliases->items);
    return true;
}

void aliases_set(struct aliases *aliases, const char *name, const char *command)
{
    aliases_remove(aliases, name);
    aliases->items = mem_resize(aliases->items, aliases->count + 1, sizeof *aliases->items);
    aliases->items[aliases->count++] = (struct alias){mem_string(name), mem_string(command)};
}

static size_t word_length(const char *text)
{
    return strcspn(text, " \t");
}

/* The `number`th word, from 1; NULL if there are fewer. */
static const char *nth_word(const char *text, int number)
{
    for (text += strspn(text, " \t"); *text && --number; text += strspn(text, " \t"))
        text += word_length(text);
    return *text ? text : NULL;
}

static char *expand(const char *command, const char *arguments)
{
    struct buf out = {0};
    buf_reserve(&out, 1);
    for (const char *at = command; *at; at++) {
        bool all = *at == '%' && at[1] == '*';
        bool one = *at == '%' && at[1] >= '1' && at[1] <= '9';
        const char *word = one ? nth_word(arguments, at[1] - '0') : NULL;
        if (all)
            buf_add_string(&out, arguments);
        else if (word)
            buf_add(&out, word, word_length(word));
        else if (!one)
            buf_add(&out, at, 1);
        at += all || one;
    }
    buf_add(&out, "", 1);
    return buf_take(&out);
}

char *aliases_expand(const struct aliases *aliases, const char *line)
{
    line += strspn(line, " \t");
    size_t len = word_length(line);
    const struct alias *alias = aliases_find(aliases, line, len);
    line += len;
    return alias ? expand(alias->command, line + strspn(line, " \t")) : NULL;
}

void aliases_clear(struct aliases *aliases)
{
    while (aliases->count)
        aliases_remove(aliases, aliases->items[0].name);
    free(aliases->items);
    *aliases = (struct aliases){0};
}
