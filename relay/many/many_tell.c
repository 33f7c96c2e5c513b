/* Events of the session's own to its client. */
#include "relay/many/many_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void many_say(struct many *many, const char *category, const char *format, ...)
{
    char text[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    client_say(many->client, category, text);
}

void many_tell_thread(struct many *many, const char *reason, int64_t id)
{
    char body[80];
    snprintf(body, sizeof body, "{\"reason\":\"%s\",\"threadId\":%" PRId64 "}", reason, id);
    client_event(many->client, "thread", body);
}

void many_tell_continued(struct many *many, int64_t id)
{
    char body[80];
    snprintf(body, sizeof body, "{\"threadId\":%" PRId64 ",\"allThreadsContinued\":false}", id);
    client_event(many->client, "continued", body);
}

void many_tell_role(struct many *many)
{
    const char *role = NULL;
    for (const struct many_task *at = many->targets; at; at = at->next) {
        if (!at->role || at->state == MANY_GONE || at->state == MANY_LEAVING)
            continue;
        if (at->drives) {
            role = at->role;
            break;
        }
        role = role ? role : at->role;
    }
    if (!role || many->leaving || text_equal(role, many->role))
        return;
    free(many->role);
    many->role = mem_string(role);
    if (session_takes_role(many->session))
        client_event(many->client, "raydbg/role", many->role);
}
