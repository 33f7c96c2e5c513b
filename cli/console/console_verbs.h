/* The console's verbs: one table drives dispatch, abbreviation, completion and help. */
#ifndef RAYDBG_CLI_CONSOLE_CONSOLE_VERBS_H
#define RAYDBG_CLI_CONSOLE_CONSOLE_VERBS_H

#include <stddef.h>

struct console;

enum verb_flag {
    VERB_STOPPED = 1,     /* needs a stopped thread */
    VERB_REPEATS = 2,     /* an empty line on a terminal repeats it */
    VERB_EXPRESSION = 4,  /* its argument is Python: an operator may begin it */
    VERB_PARENTHESIS = 8, /* "p(x)" is the verb too */
    VERB_ARGUMENT = 16,   /* takes an argument; others refuse one */
    VERB_DOT = 32,        /* its argument may be "." */
    VERB_DASHES = 64,     /* its argument may begin with "--" */
    VERB_LOCATION = 128,  /* its argument may be "/a/path:LINE" */
    VERB_RESUMES = 256,   /* lets the task run */
};

struct console_verb {
    const char *name;
    const char *aliases; /* separated by spaces; "" if none */
    /* 0, or -1 after an error was printed. */
    int (*run)(struct console *console, char *argument);
    unsigned flags;
    const char *synopsis; /* its arguments */
    const char *summary;
    const char *details; /* further lines of help, or NULL */
};

const struct console_verb *console_verbs_all(size_t *count);

int console_verb_help(struct console *console, char *argument);

/* console_run.c */
int console_verb_next(struct console *console, char *argument);
int console_verb_step(struct console *console, char *argument);
int console_verb_return(struct console *console, char *argument);
int console_verb_until(struct console *console, char *argument);
int console_verb_continue(struct console *console, char *argument);
int console_verb_remote(struct console *console, char *argument);
int console_verb_get(struct console *console, char *argument);
int console_verb_detach(struct console *console, char *argument);
int console_verb_quit(struct console *console, char *argument);

/* console_profile.c */
int console_verb_profile(struct console *console, char *argument);

/* console_stack.c */
int console_verb_where(struct console *console, char *argument);
int console_verb_up(struct console *console, char *argument);
int console_verb_down(struct console *console, char *argument);
int console_verb_list(struct console *console, char *argument);
int console_verb_longlist(struct console *console, char *argument);

/* console_threads.c */
int console_verb_threads(struct console *console, char *argument);
int console_verb_thread(struct console *console, char *argument);
int console_verb_exceptioninfo(struct console *console, char *argument);
int console_verb_exceptions(struct console *console, char *argument);

/* console_values.c */
int console_verb_print(struct console *console, char *argument);
int console_verb_pretty(struct console *console, char *argument);
int console_verb_python(struct console *console, char *argument);
int console_verb_whatis(struct console *console, char *argument);
int console_verb_source(struct console *console, char *argument);
int console_verb_args(struct console *console, char *argument);
int console_verb_locals(struct console *console, char *argument);
int console_verb_globals(struct console *console, char *argument);

int console_verb_retval(struct console *console, char *argument);

/* console_objects.c */
int console_verb_objects(struct console *console, char *argument);

/* console_why.c */
int console_verb_why(struct console *console, char *argument);
int console_verb_logs(struct console *console, char *argument);
int console_verb_stack(struct console *console, char *argument);

/* console_displays.c */
int console_verb_display(struct console *console, char *argument);
int console_verb_undisplay(struct console *console, char *argument);

/* console_breakpoints.c */
int console_verb_break(struct console *console, char *argument);
int console_verb_tbreak(struct console *console, char *argument);
int console_verb_condition(struct console *console, char *argument);
int console_verb_clear(struct console *console, char *argument);
int console_verb_enable(struct console *console, char *argument);
int console_verb_disable(struct console *console, char *argument);
int console_verb_ignore(struct console *console, char *argument);

/* console_scripts.c */
int console_verb_alias(struct console *console, char *argument);
int console_verb_unalias(struct console *console, char *argument);
int console_verb_commands(struct console *console, char *argument);
int console_verb_interact(struct console *console, char *argument);

/* console_jump.c */
int console_verb_jump(struct console *console, char *argument);

#endif
