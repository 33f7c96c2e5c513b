/* What tells the tasks of a training run apart is a rank; where it stands depends on who made it.
 */
#include "relay/multi_state.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_MS = 3000 };

/* The environment's RANK or WORLD_RANK, a local `rank`, or `self.rank`. No code of the user's runs:
 * no property, no __getattr__, no __repr__. */
static const char expression[] =
    "(lambda e,l:next((str(v) for v in (e.get('RANK'),e.get('WORLD_RANK'),l.get('rank'),"
    "getattr(l.get('self'),'__dict__',{}).get('rank') if hasattr(type(l.get('self')),'__dict__')"
    " and type(l.get('self')).__getattribute__ is object.__getattribute__ else None)"
    " if type(v) is int or type(v) is str and v.isdigit()),''))"
    "(__import__('os').environ,locals())";

static void know(struct multi_target *target, char *rank)
{
    target->rank_known = true;
    target->rank = rank;
    if (rank)
        multi_threads_rename(target);
    multi_stop_introduce(target->multi, false);
}

/* 'text' without the quotes, if it is a number. */
static char *read_rank(const char *text)
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

static void on_rank(void *arg, struct multi_target *target, const char *json, size_t len,
                    const struct envelope *response)
{
    struct span at;
    char *text = NULL;
    (void)arg, (void)len;
    if (response && response->success && response->body.len &&
        scan_find(json, response->body, "result", &at))
        text = scan_string(json, at);
    char *rank = read_rank(text);
    free(text);
    know(target, rank);
}

void multi_rank_ask(struct multi_target *target, const struct multi_thread *thread)
{
    struct buf arguments = {0};
    if (target->rank_asked)
        return;
    target->rank_asked = true;
    int64_t frame = multi_stack_user_frame(thread);
    if (!frame) {
        know(target, NULL);
        return;
    }
    buf_printf(&arguments, "{\"frameId\":%" PRId64 ",\"context\":\"watch\",\"expression\":", frame);
    message_quote(&arguments, expression);
    buf_add_string(&arguments, "}");
    multi_ask(target, "evaluate", arguments.data, RANK_MS, on_rank, NULL);
    buf_free(&arguments);
}
