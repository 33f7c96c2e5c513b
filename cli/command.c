#include "cli/command.h"

#include "base/text.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command commands[] = {
    {"list", cmd_list, "show every paused task of the cluster", cmd_list_synopsis,
     cmd_list_details},
    {"memory", cmd_memory, "show what fills the object stores, who holds it, what leaks",
     cmd_memory_synopsis, cmd_memory_details},
    {"attach", cmd_attach, "debug a paused task in this terminal", cmd_attach_synopsis,
     cmd_attach_details},
    {"debug", cmd_debug, "pick a paused task from a list, as `ray debug` does", cmd_debug_synopsis,
     cmd_debug_details},
    {"dap", cmd_dap, "speak the Debug Adapter Protocol on stdin and stdout, for editors",
     cmd_dap_synopsis, cmd_dap_details},
    {"relay", cmd_relay, "hold the cluster's pauses behind one port, for many clients",
     cmd_relay_synopsis, cmd_relay_details},
    {"hold", cmd_hold, "have the relay attach to a paused task and keep it", cmd_hold_synopsis,
     cmd_hold_details},
    {"continue", cmd_continue, "let a stopped task run on, with the relay still attached",
     cmd_continue_synopsis, cmd_continue_details},
    {"release", cmd_release, "let tasks go on that the relay holds", cmd_release_synopsis,
     cmd_release_details},
    {"sessions", cmd_sessions, "show who is attached to what through the relay",
     cmd_sessions_synopsis, cmd_sessions_details},
    {"doctor", cmd_doctor, "check what debugging needs, and say what to do", cmd_doctor_synopsis,
     cmd_doctor_details},
    {"help", cmd_help, "show this, or the help of one command", "help [COMMAND]", ""},
    {"version", cmd_version, "show the version", "version", ""},
};

static const size_t command_count = sizeof commands / sizeof *commands;

const struct command *command_find(const char *name)
{
    for (size_t i = 0; name && i < command_count; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

/* Names in an error may come from a cluster. */
static void print_line(const char *before, const char *text)
{
    char *clean = text_printable(text, strlen(text), "");
    fprintf(stderr, "%s%s\n", before, clean);
    free(clean);
}

int command_fail(const struct err *err)
{
    print_line("raydbg: ", err->what);
    if (err->why[0])
        print_line("  ", err->why);
    if (err->hint[0])
        print_line("  ", err->hint);
    return err->code ? (int)err->code : ERR_FAILED;
}

int command_usage(const char *name, const char *format, ...)
{
    const struct command *command = command_find(name);
    va_list args;
    fputs("raydbg: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    if (command)
        fprintf(stderr, "\nusage: raydbg %s\n  raydbg %s --help tells the rest\n",
                command->synopsis, command->name);
    else
        fputs("\n  raydbg help lists the commands\n", stderr);
    return ERR_USAGE;
}

int command_help(const char *name, bool whole)
{
    const struct command *command = command_find(name);
    printf("raydbg %s: %s\n\nusage: raydbg %s\n", command->name, command->summary,
           command->synopsis);
    if (whole && command->details[0])
        printf("\n%s", command->details);
    else if (command->details[0])
        printf("\nraydbg %s --help tells the rest\n", command->name);
    return ERR_NONE;
}

int cmd_help(int argc, char **argv)
{
    if (argc > 1) {
        if (!command_find(argv[1]))
            return command_usage(NULL, "there is no command '%s'", argv[1]);
        return command_help(argv[1], true);
    }
    puts("raydbg: debug Ray tasks and actors where they stopped\n\nusage: raydbg COMMAND ...\n");
    for (size_t i = 0; i < command_count; i++)
        printf("  %-8s %s\n", commands[i].name, commands[i].summary);
    puts("\nraydbg COMMAND --help tells the options of one\n"
         "exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found or ambiguous, 4 not allowed,\n"
         "            5 cluster unreachable");
    return ERR_NONE;
}

int cmd_version(int argc, char **argv)
{
    (void)argc, (void)argv;
    puts("raydbg " RAYDBG_VERSION);
    return ERR_NONE;
}
