#include "relay/stack/rank.h"

#include "base/mem.h"
#include "dap/scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char rank_expression[] =
    "(lambda e,l:next((str(v) for v in (e.get('RANK'),e.get('WORLD_RANK'),l.get('rank'),"
    "getattr(l.get('self'),'__dict__',{}).get('rank') if hasattr(type(l.get('self')),'__dict__')"
    " and type(l.get('self')).__getattribute__ is object.__getattribute__ else None)"
    " if type(v) is int or type(v) is str and v.isdigit()),''))"
    "(__import__('os').environ,locals())";

/* `text` without its quotes if it is a number, else NULL. */
static char *read_number(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    if (len >= 2 && (*text == '\'' || *text == '"')) {
        text++;
        len -= 2;
    }
    for (size_t i = 0; i < len; i++)
        if (!isdigit((unsigned char)text[i]) && !(i == 0 && text[i] == '-'))
            return NULL;
    return len && len < 16 ? mem_string_n(text, len) : NULL;
}

char *rank_read(const char *json, const struct envelope *response)
{
    char *text = envelope_result(json, response);
    char *rank = read_number(text);
    free(text);
    return rank;
}
