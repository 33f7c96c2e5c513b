#include "cli/command.h"
#include "cli/memory_request.h"
#include "cli/options.h"
#include "cli/quantity.h"
#include "cli/relay_options.h"
#include "cli/top.h"

#include "base/text.h"

#include <stdlib.h>

const char cmd_memory_synopsis[] =
    "memory [--address A] [--relay R] [--group-by G] [--sort-by S] [--units U]\n"
    "               [--num-entries N] [--filter TEXT] [--task T] [--locations]\n"
    "               [--stats-only | --why-full | --diff FILE|TIME | --top] [--format F]";

const char cmd_memory_details[] =
    "Shows what is in the cluster's object stores, who refers to it, and where it was made.\n"
    "\n"
    "  --address A      the cluster: HOST:PORT of the GCS; else RAY_ADDRESS, else the cluster\n"
    "                   that runs on this machine\n"
    "  --group-by G     each reference, by node, call-site, owner, task, actor or job;\n"
    "                   without: a line for each owner and call site\n"
    "  --sort-by S      size (default), refs, pid or age (of the task that made it)\n"
    "  --filter TEXT    only what has this text in call site, node, pid, class, task, id, kind\n"
    "  --task T         only what task T made or its worker holds; a name, or an id's beginning\n"
    "  --locations      ask the owners where the objects are\n"
    "  --units U        auto (default), B, KB, MB or GB; 1 KB is 1000 bytes\n"
    "  --num-entries N  groups, and rows of each; a terminal gets 10, all else everything\n"
    "helps\n"
    "  --stats-only     the stores' counters: used, spilled and restored bytes, and how fast\n"
    "  --why-full       who holds what fills the stores, and when it goes\n"
    "  --diff FILE|TIME what grew since an earlier --format json, or within e.g. 10s: leaks;\n"
    "                   by call site, or --group-by\n"
    "  --top            live, on the terminal: h there tells the keys\n"
    "  --format F       table (default), json, yaml, csv: these are complete, in bytes\n"
    "\n"
    "A relay can answer in the cluster's place:\n" RELAY_OPTION_HELP "\n"
    "  raydbg memory --diff 60s\n"
    "  raydbg memory --group-by call-site --num-entries 3\n"
    "\n"
    "exit codes: 0 done (nodes that do not answer are warned of), 2 wrong usage, 3 no such\n"
    "            file, 4 not allowed (token), 5 cluster or relay unreachable\n";

static const struct {
    const char *name;
    enum memory_format format;
} formats[] = {
    {"table", MEMORY_TABLE}, {"json", MEMORY_JSON}, {"yaml", MEMORY_YAML}, {"csv", MEMORY_CSV}};

static bool parse_format(const char *name, enum memory_format *format)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (text_equal(name, formats[i].name)) {
            *format = formats[i].format;
            return true;
        }
    }
    return false;
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
    int code = request->top ? memory_top(choice->loop, source, &request->query, request->units)
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

/* The options as words. */
struct words {
    const char *group_by, *sort_by, *units, *entries, *format;
};

static int read_choices(const struct words *words, struct memory_request *request)
{
    request->grouped = words->group_by != NULL;
    if (request->grouped && !object_group_parse(words->group_by, &request->query.group_by))
        return command_usage("memory",
                             "--group-by is node, call-site, owner, task, actor or job, not '%s'",
                             words->group_by);
    if (!object_sort_parse(words->sort_by, &request->query.sort_by))
        return command_usage("memory", "--sort-by is size, refs, pid or age, not '%s'",
                             words->sort_by);
    if (!memory_units_parse(words->units, &request->units))
        return command_usage("memory", "--units is auto, B, KB, MB or GB, not '%s'", words->units);
    if (!parse_format(words->format, &request->format))
        return command_usage("memory", "--format is table, json, yaml or csv, not '%s'",
                             words->format);
    if (words->entries && !text_to_int(words->entries, 0, INT32_MAX, &request->entries))
        return command_usage("memory", "--num-entries is a count, not '%s'", words->entries);
    return ERR_NONE;
}

static int check_request(struct memory_request *request)
{
    if (request->stats_only + request->why_full + (request->diff != NULL) + request->top > 1)
        return command_usage("memory",
                             "--stats-only, --why-full, --diff and --top exclude each other");
    if (request->top && (request->format != MEMORY_TABLE || request->entries >= 0))
        return command_usage("memory", "--top is a screen: without --format and --num-entries");
    if (request->top && !request->grouped)
        request->query.group_by = OBJECT_BY_NODE;
    if (request->stats_only && (request->grouped || request->query.filter || request->query.task))
        return command_usage("memory", "--stats-only has no references to group or to filter");
    if (request->why_full && request->grouped)
        return command_usage("memory", "--why-full has its own groups: leave --group-by away");
    if (request->query.filter && !*request->query.filter)
        return command_usage("memory", "--filter needs a text");
    if (request->query.task && !*request->query.task)
        return command_usage("memory", "--task needs a name or an id's beginning");
    if (request->diff && quantity_duration(request->diff, &request->diff_ms) && !request->diff_ms)
        return command_usage("memory", "--diff needs more than no time");
    return ERR_NONE;
}

int cmd_memory(int argc, char **argv)
{
    struct memory_request request = {.entries = -1};
    struct words words = {.sort_by = "size", .units = "auto", .format = "table"};
    const char *given = NULL;
    bool done;
    int operands, code;
    struct relay_wish wish = {.wanted = true};
    const struct option_spec specs[] = {
        {"address", 'a', OPTION_STRING, NULL, &given},
        {"group-by", 'g', OPTION_STRING, NULL, &words.group_by},
        {"sort-by", 's', OPTION_STRING, NULL, &words.sort_by},
        {"units", 'u', OPTION_STRING, NULL, &words.units},
        {"num-entries", 'n', OPTION_STRING, NULL, &words.entries},
        {"stats-only", 0, OPTION_FLAG, &request.stats_only, NULL},
        {"filter", 0, OPTION_STRING, NULL, &request.query.filter},
        {"task", 0, OPTION_STRING, NULL, &request.query.task},
        {"locations", 'l', OPTION_FLAG, &request.locations, NULL},
        {"why-full", 0, OPTION_FLAG, &request.why_full, NULL},
        {"diff", 0, OPTION_STRING, NULL, &request.diff},
        {"top", 't', OPTION_FLAG, &request.top, NULL},
        {"format", 'f', OPTION_STRING, NULL, &words.format},
        RELAY_OPTION_SPECS(wish),
    };
    if (!options_parse("memory", specs, sizeof specs / sizeof *specs, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands)
        return command_usage("memory", "'%s' is no option: memory takes no names", argv[1]);
    code = read_choices(&words, &request);
    if (code == ERR_NONE)
        code = check_request(&request);
    return code == ERR_NONE ? run(given, &wish, &request) : code;
}
