#include "cli/common/relay_ask.h"

#include "base/mem.h"
#include "cli/common/command_usage.h"
#include "cli/common/relay_options.h"
#include "relay/locate/relay_call.h"

#include <stdlib.h>

/* TOGETHER: requests under way at a time; a debugger may take seconds to answer the relay. */
enum { DEADLINE_MS = 30000, TOGETHER = 16 };

struct answer {
    const struct relay_address *relay;
    struct err err;
    struct buf body;
    bool done;
};

static void on_reply(void *arg, const struct http_reply *reply)
{
    struct answer *answer = arg;
    answer->done = true;
    if (relay_address_reply(answer->relay, reply, &answer->err) == 0)
        buf_add(&answer->body, reply->body, reply->len);
}

int relay_ask(struct loop *loop, const struct relay_address *relay, const char *method,
              const char *path, const char *json, struct buf *body, struct err *err)
{
    struct answer answer = {.relay = relay};
    relay_call(relay, loop, method, path, json, DEADLINE_MS, on_reply, &answer);
    loop_run_until(loop, &answer.done, -1);
    *body = answer.body;
    *err = answer.err;
    return answer.err.code ? -1 : 0;
}

bool relay_ask_here(const char *address, struct relay_page *pages, size_t count, char **name)
{
    const struct relay_wish wish = {.wanted = true};
    struct relay_choice choice;
    struct err err;
    *name = NULL;
    if (!relay_is_here(&wish, address))
        return false;
    bool answers = relay_choose_quietly(&choice, &wish, address);
    for (size_t i = 0; i < count && answers; i++) {
        int rc =
            relay_ask(choice.loop, &choice.relay, "GET", pages[i].path, NULL, &pages[i].body, &err);
        answers = rc == 0 || i > 0;
    }
    if (answers)
        *name = relay_address_short(&choice.relay);
    relay_choice_clear(&choice);
    return answers;
}

/* `end_us` of loop_now_us() is for all of them; 0: each has DEADLINE_MS. */
static void ask_each(struct loop *loop, const struct relay_address *relay, char *const *paths,
                     size_t count, int64_t end_us, relay_answer_fn fn, void *arg)
{
    struct answer *answers = mem_array(count ? count : 1, sizeof *answers);
    size_t sent = 0;
    for (size_t i = 0; i < count; i++) {
        for (; sent < count && sent < i + TOGETHER; sent++) {
            int64_t left_ms = end_us ? (end_us - loop_now_us()) / 1000 : DEADLINE_MS;
            answers[sent] = (struct answer){.relay = relay};
            relay_call(relay, loop, "POST", paths[sent], NULL, left_ms > 0 ? left_ms : 1, on_reply,
                       &answers[sent]);
        }
        loop_run_until(loop, &answers[i].done, -1);
        bool failed = answers[i].err.code != ERR_NONE;
        fn(arg, i, failed ? NULL : &answers[i].body, &answers[i].err);
        buf_free(&answers[i].body);
    }
    free(answers);
}

void relay_ask_each(struct loop *loop, const struct relay_address *relay, char *const *paths,
                    size_t count, relay_answer_fn fn, void *arg)
{
    ask_each(loop, relay, paths, count, 0, fn, arg);
}

void relay_ask_each_within(struct loop *loop, const struct relay_address *relay, char *const *paths,
                           size_t count, int64_t ms, relay_answer_fn fn, void *arg)
{
    ask_each(loop, relay, paths, count, loop_now_us() + ms * 1000, fn, arg);
}

void relay_ask_add_name(struct buf *path, const char *name)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (const char *c = name; *c; c++)
        buf_printf(path, strchr(plain, *c) ? "%c" : "%%%02X", (unsigned char)*c);
}

int relay_is_missing(void)
{
    struct err err;
    err_set(&err, ERR_UNREACHABLE, "there is no relay");
    err_why(&err, "none runs on this machine, and the cluster knows none that can be reached");
    err_hint(&err, "raydbg relay starts one; --relay says where it is");
    return command_fail(&err);
}
