#include "base/intern.h"

#include "base/invariant.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    size_t users;
    size_t len;
    char text[];
};

static struct entry *entries;

const char *intern_get(const char *text, size_t len)
{
    for (struct entry *entry = entries; entry; entry = entry->next) {
        if (entry->len == len && memcmp(entry->text, text, len) == 0) {
            entry->users++;
            return entry->text;
        }
    }
    struct entry *entry = mem_alloc(sizeof *entry + len + 1);
    entry->next = entries;
    entry->users = 1;
    entry->len = len;
    memcpy(entry->text, text, len);
    entries = entry;
    return entry->text;
}

void intern_drop(const char **text)
{
    if (!*text)
        return;
    for (struct entry **at = &entries; *at; at = &(*at)->next) {
        struct entry *entry = *at;
        if (entry->text != *text)
            continue;
        invariant(entry->users > 0);
        if (--entry->users == 0) {
            *at = entry->next;
            free(entry);
        }
        break;
    }
    *text = NULL;
}
