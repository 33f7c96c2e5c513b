/* How verbs answer their requests. */
#include "relay/many_verbs/many_verbs_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>

void verbs_answer(struct many_verbs *verbs, const struct verbs_reply *reply, const char *text,
                  const char *body)
{
    struct buf made = {0};
    if (reply->line) {
        buf_add_string(&made, "{\"result\":");
        message_quote(&made, text);
        buf_printf(&made, ",\"variablesReference\":0%s%s}", body ? ",\"raydbg\":" : "",
                   body ? body : "");
    }
    client_respond(verbs->many->client, reply->seq, reply->command, reply->line ? made.data : body);
    buf_free(&made);
}

void verbs_refuse(struct many_verbs *verbs, const struct verbs_reply *reply, const struct err *err)
{
    char line[sizeof err->what + sizeof err->why + sizeof err->hint + 8];
    err_line(err, line, sizeof line);
    client_refuse(verbs->many->client, reply->seq, reply->command, line, false);
}

char *verbs_location(const char *file, int64_t line)
{
    return mem_format("%s:%" PRId64, text_basename(file), line);
}
