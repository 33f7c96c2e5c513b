#include "cli/dap/dap_held_back.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void held_back_add(struct held_back *messages, const char *json, size_t len)
{
    struct held_back_message *message = mem_alloc(sizeof *message + len);
    message->len = len;
    memcpy(message->json, json, len);
    if (messages->newest)
        messages->newest->next = message;
    else
        messages->first = message;
    messages->newest = message;
}

struct held_back_message *held_back_take(struct held_back *messages)
{
    struct held_back_message *message = messages->first;
    if (message)
        messages->first = message->next;
    if (!messages->first)
        messages->newest = NULL;
    return message;
}

void held_back_clear(struct held_back *messages)
{
    struct held_back_message *message;
    while ((message = held_back_take(messages)))
        free(message);
}
