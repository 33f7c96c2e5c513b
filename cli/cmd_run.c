/* `raydbg run`: runs a driver whose processes dial the relay. */
#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/relay_options.h"
#include "cli/relay/run_relay.h"
#include "cli/run/break_ask.h"
#include "cli/run/run_console.h"
#include "cli/run/run_directory.h"
#include "cli/run/run_driver.h"
#include "cli/run/run_program.h"
#include "cli/run/run_session.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/access/agent_key.h"
#include "relay/access/proof.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct run_words {
    const char *address, *session;
    bool post_mortem, pause_all, detach;
    struct option_list locations;
    struct break_wish wish;
    struct relay_wish relay;
};

static const struct option_row option_rows[] = {
    {"break", 'b', OPTION_LIST, offsetof(struct run_words, locations), .most = 64,
     .value = "FILE:LINE", .word = WORD_FILE,
     .help = "a breakpoint, until the program ends; may be repeated"},
    {"post-mortem", 0, OPTION_FLAG, offsetof(struct run_words, post_mortem),
     .help = "a task that fails, or the driver, stops where the exception was raised"},
    {"pause-all", 0, OPTION_FLAG, offsetof(struct run_words, pause_all),
     .help = "each task and actor method stops at its first line"},
    BREAK_OPTION_ROWS(struct run_words, wish),
    {"detach", 'd', OPTION_FLAG, offsetof(struct run_words, detach),
     .help = "on a terminal, too, what stops gets no console: only say how to attach"},
    {"address", 'a', OPTION_STRING, offsetof(struct run_words, address), .value = "ADDRESS",
     .help = "the cluster that the program will use"},
    {"session", 0, OPTION_STRING, offsetof(struct run_words, session), .value = "SOCKET",
     .word = WORD_FILE, .help = "of an editor's launch: raydbg dap gives it"},
    RELAY_OPTION_ROWS(struct run_words, relay),
};

const struct command_text cmd_run_text = {
    .name = "run",
    .summary = "run a program whose tasks and driver stop at breakpoints",
    .synopsis = "run [--break FILE:LINE]... [OPTIONS] [--] PROGRAM|FILE.py [ARGUMENT...]",
    .intro =
        "Runs PROGRAM unchanged, or FILE.py with the python of PATH. The program, its tasks and "
        "its "
        "actors stop at breakpoints by file: those of --break, and those that raydbg break sets "
        "before or meanwhile. On a terminal, what stops gets the console of raydbg attach here, "
        "one after the other, and ^C pauses the program; elsewhere raydbg list shows what has "
        "stopped. A process without a breakpoint to reach runs at full speed.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes =
        "The options of a breakpoint are for each --break; --task, --rank and --node are for "
        "--post-mortem and --pause-all, too. docs/run.md tells how it works, and what it does not "
        "do yet.",
    .examples = "  raydbg run --break train.py:57 --if 'loss != loss' -- python train.py --lr 3\n"
                "  raydbg run --post-mortem -- python train.py\n"
                "  raydbg run train.py               # and, elsewhere: raydbg break train.py:57",
    .operand = WORD_FILE,
    .runs = true,
    .exits = "the program's own; 128 and its number if a signal ended it; 2 wrong usage, 4 not "
             "allowed, 5 no relay",
};

/* --- the job --- */

static int render_stops(struct buf *json, const struct run_words *words, struct err *err)
{
    buf_add_string(json, words->post_mortem ? ",\"post_mortem\":true" : "");
    buf_add_string(json, words->pause_all ? ",\"pause_all\":true" : "");
    if (!words->detach && run_console_is_possible())
        buf_add_string(json, ",\"interrupt_pauses\":true");
    return break_scope(json, &words->wish, err);
}

static char *make_directory(const struct run_relay *relay, const char *id, const char *stops,
                            struct err *err)
{
    struct agent_files_config config = run_relay_config(relay, id);
    config.stops = stops;
    char *directory = run_directory_make(&config, err);
    run_relay_forget(&config);
    return directory;
}

/* Sets them for the run with this id. `*set`: how many are. */
static int set_breakpoints(const struct relay_choice *choice, const struct run_words *words,
                           const char *run, int64_t *ids, size_t *set, struct err *err)
{
    struct break_wish wish = words->wish;
    wish.run = run;
    for (; *set < words->locations.count; ++*set)
        if (break_set(choice->loop, &choice->relay, &wish, words->locations.items[*set], &ids[*set],
                      err) != 0)
            return -1;
    return 0;
}

static int run_program(const struct run_words *words, const struct relay_choice *choice,
                       const char *directory, const char *id, char **command, struct err *err)
{
    struct run_driver_options options = {
        .relay = &choice->relay,
        .run = id,
        .directory = directory,
        .console =
            words->detach ? NULL : run_console_create(choice->loop, &words->relay, &choice->relay),
    };
    int code = run_driver(choice->loop, &options, command, err);
    run_console_destroy(&options.console);
    return code;
}

static int run(const struct run_words *words, char **command, struct err *err)
{
    struct run_relay relay = {0};
    const struct relay_choice *choice = &relay.choice;
    struct buf stops = {0};
    int64_t *ids = mem_array(words->locations.count + 1, sizeof *ids);
    char *directory = NULL, id[AGENT_KEY_ID_ROOM];
    size_t set = 0;
    int code = -1;
    proof_random(id, sizeof id);
    if (render_stops(&stops, words, err) == 0 &&
        run_relay_find(&relay, &words->relay, words->address, RUN_RELAY_IDLE, err) == 0 &&
        set_breakpoints(choice, words, id, ids, &set, err) == 0 &&
        (directory = make_directory(&relay, id, stops.data, err)))
        code = run_program(words, choice, directory, id, command, err);
    if (directory) /* first: a signal may end the rest */
        agent_files_remove(directory);
    free(directory);
    break_clear_all(choice->loop, &choice->relay, ids, words->locations.items, set);
    buf_free(&stops);
    relay_choice_clear(&relay.choice);
    free(ids);
    return code;
}

int cmd_run(int argc, char **argv)
{
    struct run_words words = {.relay = {.wanted = true}};
    struct err err;
    bool done = false;
    int operands, code = ERR_USAGE;
    if (!options_parse(&cmd_run_text, &words, argc, argv, &operands, &done) || done) {
        code = done ? ERR_NONE : ERR_USAGE;
    } else if (!operands) {
        command_usage(&cmd_run_text, "which program? raydbg run train.py");
    } else if (words.session && (words.locations.count || words.post_mortem || words.pause_all)) {
        command_usage(&cmd_run_text, "--session takes what stops from the editor: no --break, "
                                     "--post-mortem or --pause-all");
    } else if (!words.relay.wanted) {
        command_usage(&cmd_run_text, "--no-relay does not go with run: the processes dial a relay");
    } else {
        char **command = run_program_command(argv + 1, (size_t)operands, &err);
        code = !command        ? -1
               : words.session ? run_session(words.session, command, &err)
                               : run(&words, command, &err);
        code = code < 0 ? command_fail(&err) : code;
        free(command);
    }
    free(words.locations.items);
    return code;
}
