#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/quantity.h"
#include "cli/common/relay_options.h"
#include "cli/memory/memory_request.h"
#include "cli/top/top.h"

#include "base/text.h"

#include <stddef.h>
#include <stdlib.h>

/* The options as typed. */
struct memory_words {
    const char *address, *group_by, *sort_by, *units, *entries, *format;
    struct memory_request request;
    struct relay_wish wish;
};

static const struct option_row option_rows[] = {
    GCS_OPTION_ROW(struct memory_words, address),
    {"group-by", 'g', OPTION_STRING, offsetof(struct memory_words, group_by), .value = "G",
     .words = "node call-site owner task actor job",
     .help = "each reference, by node, call-site, owner, task, actor or job; without: a line for "
             "each owner and call site"},
    {"sort-by", 's', OPTION_STRING, offsetof(struct memory_words, sort_by), .value = "S",
     .words = "size refs pid age",
     .help = "size (default), refs, pid or age (of the task that made it)"},
    {"filter", 0, OPTION_STRING, offsetof(struct memory_words, request.query.filter),
     .value = "TEXT",
     .help = "only what has this text in call site, node, pid, class, task, id, kind"},
    {"task", 0, OPTION_STRING, offsetof(struct memory_words, request.query.task), .value = "T",
     .word = WORD_TASK,
     .help = "only what task T made or its worker holds; a name, or an id's beginning"},
    {"locations", 'l', OPTION_FLAG, offsetof(struct memory_words, request.locations),
     .help = "ask the owners where the objects are"},
    {"units", 'u', OPTION_STRING, offsetof(struct memory_words, units), .value = "U",
     .samples = "auto B KB MB GB", .help = "auto (default), B, KB, MB or GB; 1 KB is 1000 bytes"},
    {"num-entries", 'n', OPTION_STRING, offsetof(struct memory_words, entries), .value = "N",
     .help = "groups, and rows of each; a terminal gets 10, all else everything"},
    {"stats-only", 0, OPTION_FLAG, offsetof(struct memory_words, request.stats_only),
     .help = "the stores' counters: used, spilled and restored bytes, and how fast"},
    {"why-full", 0, OPTION_FLAG, offsetof(struct memory_words, request.why_full),
     .help = "who holds what fills the stores, and when it goes"},
    {"diff", 0, OPTION_STRING, offsetof(struct memory_words, request.diff), .value = "FILE|TIME",
     .samples = "10s 60s 10m", .word = WORD_FILE,
     .help = "what grew since an earlier --format json, or within a time such as 10s: leaks; by "
             "call site, "
             "or --group-by"},
    {"top", 't', OPTION_FLAG, offsetof(struct memory_words, request.top),
     .help = "live, on the terminal: h there tells the keys"},
    {"format", 'f', OPTION_STRING, offsetof(struct memory_words, format), .value = "F",
     .words = "table json yaml csv",
     .help = "table (default), json, yaml, csv: these are complete, in bytes"},
    {.help = "A relay can answer in the cluster's place:"},
    RELAY_OPTION_ROWS(struct memory_words, wish),
};

const struct command_text cmd_memory_text = {
    .name = "memory",
    .summary = "show what fills the object stores, who holds it, what leaks",
    .synopsis = "memory [--address A] [--relay R] [--group-by G] [--sort-by S] [--units U]\n"
                "               [--num-entries N] [--filter TEXT] [--task T] [--locations]\n"
                "               [--stats-only | --why-full | --diff FILE|TIME | --top] "
                "[--format F]",
    .intro = "Shows what is in the cluster's object stores, who refers to it, and where it was "
             "made.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .examples = "  raydbg memory --diff 60s\n"
                "  raydbg memory --group-by call-site --num-entries 3",
    .exits = "0 done (nodes that do not answer are warned of), 2 wrong usage, 3 no such file, "
             "4 not allowed (token), 5 cluster or relay unreachable",
};

static const struct {
    const char *name;
    enum memory_format format;
} formats[] = {
    {"table", MEMORY_TABLE}, {"json", MEMORY_JSON}, {"yaml", MEMORY_YAML}, {"csv", MEMORY_CSV}};

static enum memory_format format_of(const char *name)
{
    size_t i = 0;
    while (!text_equal(name, formats[i].name))
        i++;
    return formats[i].format;
}

static int run_chosen(const struct relay_choice *choice, struct memory_request *request)
{
    struct cluster *cluster = NULL;
    struct memory_source *source;
    struct err err;
    if (choice->found != RELAY_NONE) {
        source = memory_source_of_relay(choice->loop, &choice->relay);
    } else {
        cluster = cluster_create(choice->loop, &choice->cluster, &err);
        if (!cluster)
            return command_fail(&err);
        source = memory_source_of_cluster(choice->loop, cluster);
    }
    int code = request->top ? top_run(choice->loop, source, &request->query, request->units)
                            : memory_show(choice->loop, source, request);
    memory_source_destroy(&source);
    cluster_destroy(&cluster);
    return code;
}

static int run(const char *given, const struct relay_wish *wish, struct memory_request *request)
{
    struct relay_choice choice;
    struct err err;
    int code = relay_choose(&choice, wish, given, true, &err) == 0 ? run_chosen(&choice, request)
                                                                   : command_fail(&err);
    relay_choice_clear(&choice);
    return code;
}

static int read_choices(const struct memory_words *words, struct memory_request *request)
{
    request->grouped = words->group_by != NULL;
    if (request->grouped)
        object_group_parse(words->group_by, &request->query.group_by);
    sweep_query_sort_parse(words->sort_by, &request->query.sort_by);
    request->format = format_of(words->format);
    if (!byte_units_parse(words->units, &request->units))
        return command_usage(&cmd_memory_text, "--units is auto, B, KB, MB or GB, not '%s'",
                             words->units);
    if (words->entries && !text_to_int(words->entries, 0, INT32_MAX, &request->entries))
        return command_usage(&cmd_memory_text, "--num-entries is a count, not '%s'",
                             words->entries);
    return ERR_NONE;
}

static int check_request(struct memory_request *request)
{
    if (request->stats_only + request->why_full + (request->diff != NULL) + request->top > 1)
        return command_usage(&cmd_memory_text,
                             "--stats-only, --why-full, --diff and --top exclude each other");
    if (request->top && (request->format != MEMORY_TABLE || request->entries >= 0))
        return command_usage(&cmd_memory_text,
                             "--top is a screen: without --format and --num-entries");
    if (request->top && !request->grouped)
        request->query.group_by = OBJECT_BY_NODE;
    if (request->stats_only && (request->grouped || request->query.filter || request->query.task))
        return command_usage(&cmd_memory_text,
                             "--stats-only has no references to group or to filter");
    if (request->why_full && request->grouped)
        return command_usage(&cmd_memory_text,
                             "--why-full has its own groups: leave --group-by away");
    if (request->query.filter && !*request->query.filter)
        return command_usage(&cmd_memory_text, "--filter needs a text");
    if (request->query.task && !*request->query.task)
        return command_usage(&cmd_memory_text, "--task needs a name or an id's beginning");
    if (request->diff && quantity_duration(request->diff, &request->diff_ms) && !request->diff_ms)
        return command_usage(&cmd_memory_text, "--diff needs more than no time");
    return ERR_NONE;
}

int cmd_memory(int argc, char **argv)
{
    struct memory_words words = {
        .sort_by = "size",
        .units = "auto",
        .format = "table",
        .request = {.entries = -1},
        .wish = {.wanted = true},
    };
    bool done;
    int operands;
    if (!options_parse(&cmd_memory_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands)
        return command_usage(&cmd_memory_text, "'%s' is no option: memory takes no names", argv[1]);
    int code = read_choices(&words, &words.request);
    if (code == ERR_NONE)
        code = check_request(&words.request);
    return code == ERR_NONE ? run(words.address, &words.wish, &words.request) : code;
}
