#include "cli/stack/stack_ask.h"

#include "cli/common/command_usage.h"
#include "cli/common/relay_options.h"
#include "cli/common/terminal.h"

#include <stdio.h>

struct run {
    struct progress *progress;
    bool json, done;
    int code;
};

static void on_step(void *arg, const char *note)
{
    struct run *run = arg;
    progress_stop(&run->progress);
    run->progress = progress_start(note);
}

static void on_end(void *arg, const struct err *err, const struct stack_answer *answer)
{
    struct run *run = arg;
    struct buf out = {0};
    progress_stop(&run->progress);
    if (answer && run->json)
        live_stacks_json(answer->stacks, &out);
    else if (answer && !err)
        stack_answer_text(answer, &out);
    if (out.len)
        fwrite(out.data, 1, out.len, stdout);
    if (err)
        run->code = command_fail(err);
    buf_free(&out);
    run->done = true;
}

int stack_ask(const char *address, const struct stack_query *query, bool json)
{
    static const struct stack_request_calls calls = {on_step, on_end};
    const struct relay_wish no_relay = {0};
    struct relay_choice choice;
    struct run run = {.json = json};
    struct cluster *cluster = NULL;
    struct stack_request *request = NULL;
    struct err err;
    if (relay_choose(&choice, &no_relay, address, true, &err) == 0)
        cluster = cluster_create(choice.loop, &choice.cluster, &err);
    if (cluster)
        request = stack_request_begin(cluster, query, &calls, &run, &err);
    if (request)
        loop_run_until(choice.loop, &run.done, -1);
    else
        run.code = command_fail(&err);
    stack_request_free(&request);
    cluster_destroy(&cluster);
    relay_choice_clear(&choice);
    return run.code;
}
