#include "cli/console/console_verbs.h"

#include "base/text.h"
#include "cli/console/console_parse.h"
#include "cli/console/console_state.h"

#include <stdio.h>
#include <string.h>

enum {
    ARG = VERB_ARGUMENT,
    STOP = VERB_STOPPED,
    STEP = VERB_STOPPED | VERB_REPEATS,
    RUN = VERB_RESUMES,
    EXPR = VERB_STOPPED | VERB_ARGUMENT | VERB_EXPRESSION,
};

/* In the order of the help. */
static const struct console_verb verbs[] = {
    {"where", "w bt", console_verb_where, STOP | ARG | VERB_DASHES, "[--all]",
     "show the stack, the newest frame last", "--all shows the frames of Ray's own machinery too."},
    {"up", "u", console_verb_up, STEP | ARG, "[N]", "select an older frame", NULL},
    {"down", "d", console_verb_down, STEP | ARG, "[N]", "select a newer frame", NULL},
    {"list", "l", console_verb_list, STEP | ARG | VERB_DOT, "[LINE | FIRST,LAST | FUNCTION | .]",
     "show source lines",
     "Again without an argument it goes on where it ended; '.' goes back to the current line."},
    {"longlist", "ll", console_verb_longlist, STOP, "", "show the whole current function", NULL},
    {"args", "a", console_verb_args, STOP, "", "show the arguments of the current function", NULL},
    {"locals", "", console_verb_locals, STOP, "", "show the local variables", NULL},
    {"globals", "", console_verb_globals, STOP, "", "show the global variables", NULL},
    {"p", "", console_verb_print, EXPR | VERB_PARENTHESIS | VERB_DASHES, "[--all] EXPR",
     "show a value", "Its repr(), cut at 2000 characters; --all shows all of it."},
    {"retval", "rv", console_verb_retval, STOP, "", "show what the functions called last returned",
     NULL},
    {"pp", "", console_verb_pretty, EXPR | VERB_PARENTHESIS, "EXPR", "show a value, pretty-printed",
     NULL},
    {"whatis", "", console_verb_whatis, EXPR, "EXPR", "show a value's type", NULL},
    {"source", "", console_verb_source, EXPR, "EXPR", "show the source of a function or class",
     NULL},
    {"objects", "", console_verb_objects, EXPR, "[N | EXPR]",
     "show the worker's object references; of EXPR: all that is known",
     "The N (default 20) largest ones. It is all Ray's own metadata: nothing is fetched."},
    {"display", "", console_verb_display, ARG | VERB_EXPRESSION, "[EXPR]",
     "show a value at each stop; alone: list them", NULL},
    {"undisplay", "", console_verb_undisplay, ARG | VERB_EXPRESSION, "[EXPR]",
     "end a display, or all of them", NULL},
    {"next", "n", console_verb_next, STEP | RUN, "", "run to the next line of this function", NULL},
    {"step", "s", console_verb_step, STEP | RUN, "", "run to the next line, into calls too", NULL},
    {"return", "r", console_verb_return, STEP | RUN, "", "run until this function returns", NULL},
    {"until", "unt", console_verb_until, STEP | ARG | RUN, "[LINE]",
     "run to a line further down, or until the function returns",
     "Without LINE it leaves the loop that the current line ends, step by step."},
    {"jump", "j", console_verb_jump, STOP | ARG, "LINE", "run another line of this function next",
     "What is between does not run; nothing is undone."},
    {"continue", "c cont", console_verb_continue, RUN, "", "run to the next breakpoint",
     "All threads of the worker go on: debugpy knows no other way."},
    {"remote", "", console_verb_remote, STOP | RUN, "",
     "run to the first line of the next remote task",
     "It is the next that this task submits, on whichever node; this task runs on meanwhile. An "
     "actor's method is none: Ray cannot stop it so."},
    {"get", "", console_verb_get, STOP | RUN, "",
     "run until the result is taken: out to the caller's ray.get()", NULL},
    {"break", "b", console_verb_break, ARG | VERB_LOCATION,
     "[[FILE:]LINE | FUNCTION [if CONDITION]]", "set a breakpoint; alone: list them",
     "FILE is a path, or the end of one among the files that the task has loaded."},
    {"tbreak", "tb", console_verb_tbreak, ARG | VERB_LOCATION,
     "[FILE:]LINE | FUNCTION [if CONDITION]", "set a breakpoint that stops once", NULL},
    {"condition", "", console_verb_condition, ARG, "N [EXPR]",
     "change or remove a breakpoint's condition", NULL},
    {"ignore", "", console_verb_ignore, ARG, "N [COUNT]", "pass a breakpoint COUNT times",
     "They count from now, and anew when a breakpoint of the same file changes."},
    {"commands", "", console_verb_commands, ARG, "[N]",
     "read the commands that run when breakpoint N stops",
     "A line each, up to \"end\"; \"silent\" first: the stop is not shown. Of N, the last one "
     "set."},
    {"enable", "", console_verb_enable, ARG, "N...", "switch breakpoints on", NULL},
    {"disable", "", console_verb_disable, ARG, "N...", "switch breakpoints off", NULL},
    {"clear", "cl", console_verb_clear, ARG | VERB_LOCATION, "[N... | [FILE:]LINE]",
     "remove breakpoints; alone: all", NULL},
    {"threads", "", console_verb_threads, 0, "", "list the worker's threads", NULL},
    {"thread", "", console_verb_thread, ARG, "N", "go to another stopped thread", NULL},
    {"exceptioninfo", "exc", console_verb_exceptioninfo, STOP, "",
     "show the exception of a post mortem", NULL},
    {"exceptions", "", console_verb_exceptions, STOP, "",
     "list the exceptions that led to that of a post mortem", NULL},
    {"why", "", console_verb_why, ARG, "[NAME]",
     "say why a task, actor, process or node failed, died or waits; alone: this task",
     "As `raydbg why NAME`."},
    {"logs", "", console_verb_logs, ARG, "[NAME]",
     "show the last lines that a task, actor or process has written; alone: this task",
     "As `raydbg logs NAME --tail 50`."},
    {"stack", "", console_verb_stack, ARG, "[NAME]",
     "show where tasks that run are, without stopping them; alone: all", "As `raydbg stack NAME`."},
    {"profile", "", console_verb_profile, STOP | ARG | RUN, "next | return | continue",
     "run on, and show which functions took the time",
     "By Python's own profiler, in this thread only; the debugger slows what it measures."},
    {"alias", "", console_verb_alias, ARG, "[NAME [COMMAND]]",
     "name a command; alone: list the names", "%1 to %9 in it are the words after NAME, %* all."},
    {"unalias", "", console_verb_unalias, ARG, "NAME", "forget an alias", NULL},
    {"interact", "", console_verb_interact, STOP, "", "read Python alone, until exit() or ^D",
     NULL},
    {"detach", "", console_verb_detach, 0, "",
     "leave; the task stays stopped (with --no-relay: goes on)", NULL},
    {"quit", "q exit", console_verb_quit, 0, "",
     "leave; the task goes on (with --kill: ends the worker)",
     "A relay that was started by hand keeps it stopped."},
    {"help", "h", console_verb_help, ARG, "[VERB]", "show this, or more of one verb", NULL},
};

const struct console_verb *console_verbs_all(size_t *count)
{
    *count = sizeof verbs / sizeof *verbs;
    return verbs;
}

static void help_one(struct console *console, const struct console_verb *verb)
{
    console_print(console, "%s%s%s\n", verb->name, *verb->synopsis ? " " : "", verb->synopsis);
    console_print(console, "  %s\n", verb->summary);
    if (verb->details)
        console_print(console, "  %s\n", verb->details);
    if (*verb->aliases)
        console_print(console, "  short: %s\n", verb->aliases);
}

int console_verb_help(struct console *console, char *argument)
{
    if (*argument && console->options->many && many_knows(argument))
        return many_help(console, argument);
    if (*argument) {
        const struct console_verb *verb = console_verb_find(argument, strlen(argument));
        if (!verb)
            return console_error(console, "there is no verb '%s': help lists them", argument);
        help_one(console, verb);
        return 0;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        char names[64];
        snprintf(names, sizeof names, "%s%s%s", verbs[i].name, *verbs[i].aliases ? " " : "",
                 verbs[i].aliases);
        console_print(console, "  %-19s %s\n", names, verbs[i].summary);
    }
    if (console->options->many)
        many_help(console, "");
    console_print(console, "Anything else is Python, run in the selected frame; !TEXT is always "
                           "Python.\nA block of several lines, typed or pasted, is Python as a "
                           "whole; an empty line ends it.\n"
                           "\";;\" divides commands. Verbs may be shortened; an empty line repeats "
                           "a step.\n");
    return 0;
}
