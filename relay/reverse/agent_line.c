#include "relay/reverse/agent_line.h"

#include "base/text.h"
#include "relay/access/agent_key.h"
#include "relay/access/proof.h"

#include <stddef.h>
#include <string.h>

bool agent_line_read(struct agent_line *out, const char *line)
{
    enum { WORDS = 5 };
    char copy[AGENT_LINE_ROOM];
    const char *words[WORDS] = {0};
    char *rest = NULL;
    size_t count = 0;
    *out = (struct agent_line){0};
    if (!text_copy(copy, sizeof copy, line))
        return false;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (count == WORDS)
            return false;
        words[count++] = word;
    }
    if (count < 4 || !text_equal(words[0], "raydbg") || !text_equal(words[2], "1"))
        return false;
    bool agent = text_equal(words[1], "agent") && count == 5 && agent_key_is_id(words[3]);
    bool pydevd = text_equal(words[1], "pydevd") && count == 4;
    out->kind = agent ? AGENT_LINE_AGENT : AGENT_LINE_PYDEVD;
    if (agent)
        text_copy(out->key_id, sizeof out->key_id, words[3]);
    text_copy(out->secret, sizeof out->secret, words[count - 1]);
    return (agent || pydevd) && proof_is_hex(words[count - 1], PROOF_ROOM - 1);
}
