#include "cli/dap/dap_replay.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/splice.h"

#include <stdlib.h>
#include <string.h>

/* In the order in which a client sends them. */
static const struct {
    const char *command;
    bool by_source;
} kept[] = {
    {"initialize", false},
    {"attach", false},
    {"setBreakpoints", true},
    {"setFunctionBreakpoints", false},
    {"setDataBreakpoints", false},
    {"setInstructionBreakpoints", false},
    {"setExceptionBreakpoints", false},
    {"configurationDone", false},
};
enum { KEPT = sizeof kept / sizeof *kept };

static size_t rank_of(const char *command)
{
    size_t rank = 0;
    while (rank < KEPT && !text_equal(kept[rank].command, command))
        rank++;
    return rank;
}

static char *source_of(const char *json, const struct envelope *envelope)
{
    return scan_string_at(json, envelope->arguments, "source/path");
}

static struct replay_message *find(struct replay *replay, const char *command, const char *key)
{
    for (size_t i = 0; i < replay->count; i++)
        if (text_equal(replay->messages[i].command, command) &&
            text_equal(replay->messages[i].key, key))
            return &replay->messages[i];
    return NULL;
}

/* Inserts a message after those that come before it or have its rank. */
static struct replay_message *insert(struct replay *replay, const char *command)
{
    size_t at = replay->count, rank = rank_of(command);
    replay->messages = mem_resize(replay->messages, at + 1, sizeof *replay->messages);
    while (at > 0 && rank_of(replay->messages[at - 1].command) > rank) {
        replay->messages[at] = replay->messages[at - 1];
        at--;
    }
    replay->count++;
    struct replay_message *message = &replay->messages[at];
    *message = (struct replay_message){0};
    text_copy(message->command, sizeof message->command, command);
    return message;
}

/* A ticket is valid once. An attach with a ticket also names its task. */
static void add_without_ticket(struct buf *out, const char *json, size_t len,
                               const struct envelope *envelope)
{
    struct buf members = {0};
    struct span key, value;
    size_t cursor = 0;
    while (scan_member(json, envelope->arguments, &cursor, &key, &value))
        if (!scan_key_is(json, key, "ticket"))
            buf_printf(&members, "%s%.*s:%.*s", members.len ? "," : "{", (int)key.len,
                       json + key.at, (int)value.len, json + value.at);
    buf_add_string(&members, members.len ? "}" : "{}");
    struct edit edit = {.at = envelope->arguments, .with = members.data, .len = members.len};
    splice_apply(json, len, &edit, 1, out);
    buf_free(&members);
}

static bool has_ticket(const char *json, const struct envelope *envelope)
{
    struct span ticket;
    return text_equal(envelope->name, "attach") && envelope->arguments.len &&
           scan_find(json, envelope->arguments, "ticket", &ticket);
}

void replay_note(struct replay *replay, const char *json, size_t len,
                 const struct envelope *envelope)
{
    size_t rank = rank_of(envelope->name);
    if (envelope->kind != DAP_REQUEST || rank == KEPT)
        return;
    char *key = kept[rank].by_source ? source_of(json, envelope) : NULL;
    struct replay_message *message = find(replay, envelope->name, key);
    if (message) {
        free(message->json);
        free(key);
    } else {
        message = insert(replay, envelope->name);
        message->key = key;
    }
    struct buf text = {0};
    if (has_ticket(json, envelope))
        add_without_ticket(&text, json, len, envelope);
    else
        buf_add(&text, json, len);
    message->len = text.len;
    message->json = buf_take(&text);
}

bool replay_is_whole(const struct replay *replay)
{
    bool whole = replay->count >= 3 && text_equal(replay->messages[0].command, "initialize") &&
                 text_equal(replay->messages[1].command, "attach");
    return whole && text_equal(replay->messages[replay->count - 1].command, "configurationDone");
}

void replay_clear(struct replay *replay)
{
    for (size_t i = 0; i < replay->count; i++) {
        free(replay->messages[i].key);
        free(replay->messages[i].json);
    }
    free(replay->messages);
    *replay = (struct replay){0};
}
