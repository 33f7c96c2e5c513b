#include "cli/command.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/help/command_completion.h"
#include "cli/help/command_man.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct help_words {
    const char *man;
};

static const struct option_row help_options[] = {
    {"man", 0, OPTION_STRING, offsetof(struct help_words, man), .value = "DIR", .word = WORD_FILE,
     .help = "write the manual pages into a directory"},
};

static const struct command_text help_text = {
    .name = "help",
    .summary = "show this, or the help of one command",
    .synopsis = "help [COMMAND] [--man DIR]",
    .options = help_options,
    .option_count = sizeof help_options / sizeof *help_options,
    .exits = "0 done, 1 a page cannot be written, 2 wrong usage",
    .operand = WORD_COMMAND,
};

static const struct command_text version_text = {
    .name = "version",
    .summary = "show the version",
    .synopsis = "version",
};

static const struct command_text completions_text = {
    .name = "completions",
    .summary = "print the completion script of a shell",
    .synopsis = "completions bash|zsh|fish",
    .intro = "Prints a script that completes commands, options, values and paused tasks. Packages "
             "and cmake --install have put it where the shell finds it; otherwise:",
    .examples = "  source <(raydbg completions bash)                  # in ~/.bashrc\n"
                "  source <(raydbg completions zsh)                   # in ~/.zshrc, after "
                "compinit\n"
                "  raydbg completions fish > ~/.config/fish/completions/raydbg.fish",
    .exits = "0 done, 2 wrong usage",
    .operands = "bash zsh fish",
};

static const struct command commands[] = {
    {&cmd_list_text, cmd_list},
    {&cmd_why_text, cmd_why},
    {&cmd_logs_text, cmd_logs},
    {&cmd_stack_text, cmd_stack},
    {&cmd_profile_text, cmd_profile},
    {&cmd_timeline_text, cmd_timeline},
    {&cmd_slow_text, cmd_slow},
    {&cmd_memory_text, cmd_memory},
    {&cmd_run_text, cmd_run},
    {&cmd_break_text, cmd_break},
    {&cmd_env_text, cmd_env},
    {&cmd_attach_text, cmd_attach},
    {&cmd_debug_text, cmd_debug},
    {&cmd_dap_text, cmd_dap},
    {&cmd_relay_text, cmd_relay},
    {&cmd_hold_text, cmd_hold},
    {&cmd_continue_text, cmd_continue},
    {&cmd_release_text, cmd_release},
    {&cmd_sessions_text, cmd_sessions},
    {&cmd_doctor_text, cmd_doctor},
    {&completions_text, command_completions_main},
    {&help_text, command_help_main},
    {&version_text, command_version_main},
};

static const struct option_row own_options[] = {
    {"help", 'h', OPTION_FLAG, .help = "the commands"},
    {"version", 'V', OPTION_FLAG, .help = "the version"},
};

static const struct command_table table = {commands, sizeof commands / sizeof *commands,
                                           own_options, sizeof own_options / sizeof *own_options};

/* "-V" and "--version" give "version", and so on; any other word itself. */
static const char *command_name(const char *word)
{
    for (size_t i = 0; i < table.option_count; i++) {
        const struct option_row *row = &own_options[i];
        const char letter[] = {'-', row->letter, '\0'};
        if (strcmp(word, letter) == 0 ||
            (strncmp(word, "--", 2) == 0 && strcmp(word + 2, row->name) == 0))
            return row->name;
    }
    return word;
}

const struct command *command_find(const char *word)
{
    const char *name = command_name(word);
    for (size_t i = 0; i < table.count; i++)
        if (strcmp(name, commands[i].text->name) == 0)
            return &commands[i];
    return NULL;
}

int command_unknown(const char *name)
{
    enum { MOST_WRONG = 2 };
    const char *nearest = NULL;
    size_t best = MOST_WRONG + 1;
    for (size_t i = 0; i < table.count; i++) {
        const char *other = commands[i].text->name;
        size_t here = text_distance(name, strlen(name), other, strlen(other));
        if (here < best) {
            best = here;
            nearest = other;
        }
    }
    if (nearest)
        return command_usage(NULL, "there is no command '%s': did you mean %s?", name, nearest);
    return command_usage(NULL, "there is no command '%s'", name);
}

static void show_commands(void)
{
    struct buf out = {0};
    buf_add_string(&out, "raydbg: " COMMAND_SUMMARY "\n\nusage: raydbg COMMAND ...\n\n");
    for (size_t i = 0; i < table.count; i++)
        buf_printf(&out, "  %-13s %s\n", commands[i].text->name, commands[i].text->summary);
    buf_add_string(&out, "\n");
    for (size_t i = 0; i < table.option_count; i++)
        buf_printf(&out, "  -%c, --%-7s %s\n", own_options[i].letter, own_options[i].name,
                   own_options[i].help);
    buf_add_string(&out, "\nraydbg COMMAND --help tells the options of one\nexit codes: ");
    command_fill(&out, COMMAND_EXITS, 12, 12, 92);
    fputs(out.data, stdout);
    buf_free(&out);
}

int command_help_main(int argc, char **argv)
{
    struct help_words words = {0};
    struct err err;
    bool done;
    int operands;
    if (!options_parse(&help_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (words.man)
        return command_man_write(&table, words.man, &err) == 0 ? ERR_NONE : command_fail(&err);
    if (!operands)
        show_commands();
    else if (command_find(argv[1]))
        command_help(command_find(argv[1])->text, true);
    else
        return command_unknown(argv[1]);
    return ERR_NONE;
}

int command_completions_main(int argc, char **argv)
{
    struct buf out = {0};
    bool done;
    int operands;
    if (!options_parse(&completions_text, NULL, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands != 1 || !command_completion(&table, argv[1], &out))
        return command_usage(&completions_text, "which shell: bash, zsh or fish?");
    fputs(out.data, stdout);
    buf_free(&out);
    return ERR_NONE;
}

int command_version_main(int argc, char **argv)
{
    bool done;
    int operands;
    if (!options_parse(&version_text, NULL, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands)
        return command_usage(&version_text, "'%s' is no option: version takes no names", argv[1]);
    puts("raydbg " RAYDBG_VERSION);
    return ERR_NONE;
}
