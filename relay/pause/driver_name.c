#include "relay/pause/driver_name.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdbool.h>
#include <string.h>

enum { WORD_SIZE = 256 };

/* Reads the next word. Python's list2cmdline(), which Ray uses, quotes words with blanks. False at
 * the end. */
static bool next_word(const char **at, char word[WORD_SIZE])
{
    const char *text = *at + strspn(*at, " \t");
    bool found = *text, quoted = false;
    size_t len = 0;
    for (; *text && (quoted || !strchr(" \t", *text)); text++) {
        if (*text == '"') {
            quoted = !quoted;
            continue;
        }
        if (*text == '\\' && text[1] == '"')
            text++;
        if (len + 1 < WORD_SIZE)
            word[len++] = *text;
    }
    word[len] = '\0';
    *at = text;
    return found;
}

static bool skip_python(const char **at, char word[WORD_SIZE])
{
    while (next_word(at, word))
        if (text_starts(text_basename(word), "python"))
            return true;
    return false;
}

/* Reads the first word after Python's own options. False if Python gets no file and no module. */
static bool read_program(const char *at, char word[WORD_SIZE])
{
    while (next_word(&at, word)) {
        if (*word != '-')
            return true;
        if (text_equal(word, "-m"))
            return next_word(&at, word);
        if (text_equal(word, "-") || text_equal(word, "-c"))
            return false;
        if (text_equal(word, "-X") || text_equal(word, "-W"))
            next_word(&at, word);
    }
    return false;
}

char *driver_program(const char *entrypoint)
{
    char word[WORD_SIZE];
    const char *at = entrypoint;
    if (text_empty(entrypoint) || text_equal(entrypoint, "unknown")) /* Ray's word */
        return NULL;
    bool found = skip_python(&at, word) ? read_program(at, word) : next_word(&entrypoint, word);
    return found ? mem_string(text_basename(word)) : NULL;
}

char *driver_name(const char *program)
{
    return mem_format("driver%s%.200s", text_empty(program) ? "" : " ", program ? program : "");
}
