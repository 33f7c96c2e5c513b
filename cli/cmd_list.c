#include "cli/command.h"
#include "cli/options.h"
#include "cli/origin_ask.h"
#include "cli/pause_watch.h"
#include "cli/relay_options.h"
#include "cli/signals.h"

#include "base/text.h"
#include "cli/pause_select.h"
#include "relay/cluster.h"

#include <stdlib.h>
#include <string.h>

const char cmd_list_synopsis[] =
    "list [--address A] [--relay R] [--all] [--job J] [--node N] [--actor A]\n"
    "             [--state S] [--sort K] [--watch] [--format F]";

const char cmd_list_details[] =
    "Shows every worker of the cluster that waits in a debugger, and what it was running.\n"
    "\n"
    "  --address A   the cluster: HOST:PORT of the GCS, or http://HOST:8265 of the dashboard;\n"
    "                else RAY_ADDRESS, else the cluster that runs on this machine\n"
    "  --all         also workers whose debugger is open but that run nothing\n"
    "  --job J, --node N, --actor A, --state S\n"
    "                only those; N is an ip, a host name or an id, A an id, a class or a name,\n"
    "                S waiting (a thread waits for a client), attached (a task runs with its\n"
    "                debugger open: a client is attached, or was), held (a relay keeps it) or\n"
    "                idle\n"
    "  --sort K      node (default), age, name, state, job, pid\n"
    "  --watch       go on: redraws on a terminal, else a JSON line for each change; with\n"
    "                --format json lines say, too, when the cluster is away and live again\n"
    "  --format F    table (default), json, yaml\n"
    "\n"
    "A relay also knows where a task stopped that it holds, why, and who is "
    "attached:\n" RELAY_OPTION_HELP "\n"
    "AGE counts from the start of the task (debugpy), or from its breakpoint (pdb). JSON is an\n"
    "array of objects; what is not known is null.\n"
    "\n"
    "  raydbg list --actor Trainer --format json | jq -r '.[].task_id'\n"
    "\n"
    "exit codes: 0 done (nothing paused is done too), 2 wrong usage, 4 not allowed (token),\n"
    "            5 cluster or relay unreachable\n";

static const struct {
    const char *name;
    enum list_format format;
} formats[] = {{"table", LIST_TABLE}, {"json", LIST_JSON}, {"yaml", LIST_YAML}};

static bool parse_format(const char *name, enum list_format *format)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (text_equal(name, formats[i].name)) {
            *format = formats[i].format;
            return true;
        }
    }
    return false;
}

static int show_once(struct loop *loop, struct origin *origin, const struct list_request *request)
{
    struct err err;
    if (origin_ask(loop, origin, NULL, NULL, &err) != 0)
        return command_fail(&err);
    list_print(origin, request);
    return ERR_NONE;
}

static int show(struct loop *loop, struct origin *origin, const struct list_request *request)
{
    int code =
        request->watch ? pause_watch(loop, origin, request) : show_once(loop, origin, request);
    origin_destroy(&origin);
    return code;
}

static int run_chosen(const struct relay_choice *choice, const struct list_request *request)
{
    struct err err;
    if (choice->found != RELAY_NONE)
        return show(choice->loop, origin_of_relay(choice->loop, &choice->relay), request);
    struct cluster *cluster = cluster_create(choice->loop, &choice->cluster, &err);
    if (!cluster)
        return command_fail(&err);
    int code = show(choice->loop, origin_of_cluster(cluster), request);
    cluster_destroy(&cluster);
    return code;
}

static int run(const char *given, const struct relay_wish *wish, const struct list_request *request)
{
    if (request->watch)
        signals_block(); /* ^C ends it in order from the start */
    struct relay_choice choice;
    struct err err;
    int code = relay_choose(&choice, wish, given, true, &err) == 0 ? run_chosen(&choice, request)
                                                                   : command_fail(&err);
    relay_choice_clear(&choice);
    return code;
}

int cmd_list(int argc, char **argv)
{
    struct list_request request = {0};
    const char *given = NULL, *format = "table", *state = NULL, *sort = "node";
    bool done;
    int operands;
    struct relay_wish wish = {.wanted = true};
    const struct option_spec specs[] = {
        {"address", 'a', OPTION_STRING, NULL, &given},
        {"all", 'A', OPTION_FLAG, &request.select.all, NULL},
        {"job", 0, OPTION_STRING, NULL, &request.select.job},
        {"node", 0, OPTION_STRING, NULL, &request.select.node},
        {"actor", 0, OPTION_STRING, NULL, &request.select.actor},
        {"state", 0, OPTION_STRING, NULL, &state},
        {"sort", 0, OPTION_STRING, NULL, &sort},
        {"watch", 'w', OPTION_FLAG, &request.watch, NULL},
        {"format", 'f', OPTION_STRING, NULL, &format},
        RELAY_OPTION_SPECS(wish),
    };
    if (!options_parse("list", specs, sizeof specs / sizeof *specs, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands)
        return command_usage("list", "'%s' is no option: list takes no names", argv[1]);
    if (!parse_format(format, &request.format))
        return command_usage("list", "--format is table, json or yaml, not '%s'", format);
    if (!pause_select_sort(&request.select, sort))
        return command_usage("list", "--sort is %s, not '%s'", pause_select_sorts(), sort);
    if (state && !pause_select_state(&request.select, state))
        return command_usage("list", "--state is waiting, attached, held or idle, not '%s'", state);
    return run(given, &wish, &request);
}
