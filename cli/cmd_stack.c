#include "cli/commands.h"
#include "cli/common/command_usage.h"
#include "cli/common/options.h"
#include "cli/stack/stack_ask.h"

#include "base/text.h"

#include <stddef.h>

struct stack_words {
    const char *address, *node, *format;
    bool all, native, full;
};

static const struct option_row option_rows[] = {
    GCS_OPTION_ROW(struct stack_words, address),
    {"node", 0, OPTION_STRING, offsetof(struct stack_words, node), .value = "N",
     .help = "only processes on a node: its ip, host name or id"},
    {"all", 'A', OPTION_FLAG, offsetof(struct stack_words, all),
     .help = "also processes that run nothing"},
    {"full", 0, OPTION_FLAG, offsetof(struct stack_words, full),
     .help = "all frames of all threads, Ray's own too"},
    {"native", 0, OPTION_FLAG, offsetof(struct stack_words, native),
     .help = "also the frames of C code; takes a second for each process"},
    {"format", 'f', OPTION_STRING, offsetof(struct stack_words, format), .value = "F",
     .words = "text json", .help = "text (default), json"},
};

const struct command_text cmd_stack_text = {
    .name = "stack",
    .summary = "show where running tasks are, without stopping them",
    .synopsis = "stack [NAME] [--node N] [--all] [--full] [--native] [--format F] [--address A]",
    .intro =
        "Shows the Python stacks of live processes as one tree, with how many are where: those "
        "of a task, an actor, a process (PID@NODE), a node or a job, or of all that run "
        "something. Paused tasks are among them.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes = "The stacks are py-spy's, which must be in the cluster's Python environment "
             "(ray[default] has it); it stops a process for some milliseconds. From Ray 2.60 on "
             "the operator allows it with RAY_DASHBOARD_ENABLE_PROFILING=1 in the environment of "
             "`ray start --head`.",
    .examples = "  raydbg stack\n"
                "  raydbg stack train_step\n"
                "  raydbg stack --node 10.0.0.7 --all\n"
                "  raydbg stack 762@10.0.0.7 --full",
    .exits =
        "0 done, 1 py-spy gave no stack, 2 wrong usage, 3 nothing has this name or it does not "
        "run, 4 not allowed (token, or the operator's switch), 5 cluster unreachable",
    .operand = WORD_TASK,
};

int cmd_stack(int argc, char **argv)
{
    struct stack_words words = {.format = "text"};
    bool done;
    int operands;
    if (!options_parse(&cmd_stack_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands > 1)
        return command_usage(&cmd_stack_text, "stack takes one name, not %d", operands);
    if (operands && !*argv[1])
        return command_usage(&cmd_stack_text, "the name is empty");
    const struct stack_query query = {
        .select = {.name = operands ? argv[1] : NULL, .node = words.node, .idle = words.all},
        .native = words.native,
        .full = words.full};
    return stack_ask(words.address, &query, text_equal(words.format, "json"));
}
