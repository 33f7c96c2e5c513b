#include "cli/commands.h"
#include "cli/common/command_usage.h"
#include "cli/common/options.h"
#include "cli/common/quantity.h"
#include "cli/profile/profile_ask.h"

#include "base/text.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

enum { LONGEST_S = 60 };

struct profile_words {
    const char *address, *node, *duration, *format, *output;
    bool all, native, idle, full, memory, yes;
};

static const struct option_row option_rows[] = {
    GCS_OPTION_ROW(struct profile_words, address),
    {"duration", 'd', OPTION_STRING, offsetof(struct profile_words, duration), .value = "T",
     .samples = "5s 10s 60s", .help = "how long, 1s to 60s; 5s if not given"},
    {"node", 0, OPTION_STRING, offsetof(struct profile_words, node), .value = "N",
     .help = "only processes on a node: its ip, host name or id"},
    {"all", 'A', OPTION_FLAG, offsetof(struct profile_words, all),
     .help = "also processes that run nothing"},
    {"idle", 0, OPTION_FLAG, offsetof(struct profile_words, idle),
     .help = "also threads that wait: where the time goes, not the CPU; needs Ray 2.60"},
    {"full", 0, OPTION_FLAG, offsetof(struct profile_words, full),
     .help = "all frames of all threads, Ray's own too"},
    {"native", 0, OPTION_FLAG, offsetof(struct profile_words, native),
     .help = "also the frames of C code"},
    {"memory", 0, OPTION_FLAG, offsetof(struct profile_words, memory),
     .help = "the memory of one process, as HTML: memray is put into it, which may crash it"},
    {"yes", 'y', OPTION_FLAG, offsetof(struct profile_words, yes),
     .help = "--memory does not ask before it goes on"},
    {"output", 'o', OPTION_STRING, offsetof(struct profile_words, output), .value = "FILE",
     .word = WORD_FILE,
     .help = "write a flame graph (.svg), a profile for speedscope (.json) or folded stacks "
             "(.folded); - is standard output"},
    {"format", 'f', OPTION_STRING, offsetof(struct profile_words, format), .value = "F",
     .words = "table json speedscope svg folded",
     .help = "table (default), json, speedscope, svg, folded; with -o, the file's ending says it"},
};

const struct command_text cmd_profile_text = {
    .name = "profile",
    .summary = "show which functions use the CPU, over many workers; or the memory of one",
    .synopsis = "profile [NAME] [--duration T] [--node N] [--all] [--idle] [--full] [--native]\n"
                "               [-o FILE] [--format F] [--address A]\n"
                "       raydbg profile --memory NAME -o FILE [--duration T] [--native] [--yes]",
    .intro = "Samples live processes 100 times a second and merges what it sees: the functions "
             "that use the CPU, in a task, an actor, a process (PID@NODE), a node or a job, or in "
             "all that run something. As a table, or with -o as one flame graph.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes =
        "The samples are py-spy's, which must be in the cluster's Python environment "
        "(ray[default] has it); it stops a process for some milliseconds at a time. From Ray "
        "2.60 on the operator allows it with RAY_DASHBOARD_ENABLE_PROFILING=1 in the "
        "environment of `ray start --head`. --memory needs memray and gdb or lldb on the node, "
        "and takes half a minute longer than --duration.",
    .examples = "  raydbg profile\n"
                "  raydbg profile train_step --duration 10s -o train.svg\n"
                "  raydbg profile 762@10.0.0.7 -o worker.json\n"
                "  raydbg profile --memory 762@10.0.0.7 -o memory.html\n"
                "  raydbg profile --format folded | flamegraph.pl > all.svg",
    .exits = "0 done, 1 py-spy gave no samples or the file cannot be written, 2 wrong usage, 3 "
             "nothing has this name or it does not run, 4 not allowed (token, or the operator's "
             "switch), 5 cluster unreachable",
    .operand = WORD_TASK,
};

/* The exit code if the user does not want what memray does, or cannot be asked; else 0. */
static int ask_consent(const struct profile_words *words)
{
    char answer[16];
    fputs("memray puts itself into the process, by gdb or lldb: that stops the process for some "
          "seconds,\nmakes it slower and larger, and can crash it.\n",
          stderr);
    if (words->yes)
        return ERR_NONE;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return command_usage(&cmd_profile_text, "--memory needs --yes where there is no terminal");
    fputs("Go on? [y/N] ", stderr);
    bool agrees = fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
    return agrees ? ERR_NONE : ERR_FAILED;
}

/* Returns the exit code. */
static int profile_memory(const struct profile_words *words, struct profile_request *request)
{
    if (!request->query.select.name)
        return command_usage(&cmd_profile_text, "--memory needs a name: of one process");
    if (!words->output)
        return command_usage(&cmd_profile_text, "--memory writes HTML: -o FILE says where");
    if (words->format || words->all || words->idle || words->full)
        return command_usage(&cmd_profile_text,
                             "--format, --all, --idle and --full do not go with --memory");
    request->query.one = request->query.stacks.memory = true;
    int code = ask_consent(words);
    return code == ERR_NONE ? profile_ask(request) : code;
}

static const struct {
    const char *word, *ending; /* of a file; NULL: no ending means it */
    enum profile_format format;
} formats[] = {
    {"table", NULL, PROFILE_TABLE},
    {"json", NULL, PROFILE_JSON},
    {"speedscope", ".json", PROFILE_SPEEDSCOPE},
    {"svg", ".svg", PROFILE_SVG},
    {"folded", ".folded", PROFILE_FOLDED},
};

/* False if the file's ending does not say the format. */
static bool choose_format(const struct profile_words *words, enum profile_format *out)
{
    *out = PROFILE_TABLE;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (words->format ? !text_equal(words->format, formats[i].word)
                          : !formats[i].ending || !text_ends(words->output, formats[i].ending))
            continue;
        *out = formats[i].format;
        return true;
    }
    return false;
}

int cmd_profile(int argc, char **argv)
{
    struct profile_words words = {.duration = "5s"};
    struct profile_request request;
    int64_t ms;
    bool done;
    int operands;
    if (!options_parse(&cmd_profile_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands > 1)
        return command_usage(&cmd_profile_text, "profile takes one name, not %d", operands);
    if (operands && !*argv[1])
        return command_usage(&cmd_profile_text, "the name is empty");
    if (!quantity_duration(words.duration, &ms) || ms < 1000 || ms > INT64_C(1000) * LONGEST_S)
        return command_usage(&cmd_profile_text, "--duration is 1s to %ds, not '%s'", LONGEST_S,
                             words.duration);
    request = (struct profile_request){
        .address = words.address,
        .query = {.select = {.name = operands ? argv[1] : NULL,
                             .node = words.node,
                             .idle = words.all},
                  .stacks = {.native = words.native,
                             .idle = words.idle,
                             .seconds = (uint32_t)(ms / 1000)}},
        .full = words.full,
        .output = words.output ? words.output : "-",
    };
    if (words.memory)
        return profile_memory(&words, &request);
    if (!choose_format(&words, &request.format) && words.output && !text_equal(words.output, "-"))
        return command_usage(&cmd_profile_text,
                             "which format is %s? it ends in .svg, .json or .folded, or --format "
                             "says it",
                             words.output);
    return profile_ask(&request);
}
