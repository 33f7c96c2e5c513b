/* The console's verbs: one table drives dispatch, abbreviation, completion and help. */
#ifndef RAYDBG_CLI_CONSOLE_VERBS_H
#define RAYDBG_CLI_CONSOLE_VERBS_H

#include <stddef.h>

struct console;

enum verb_flag {
    VERB_STOPPED = 1,     /* needs a stopped thread */
    VERB_REPEATS = 2,     /* an empty line on a terminal does it again */
    VERB_EXPRESSION = 4,  /* its argument is Python: an operator may begin it */
    VERB_PARENTHESIS = 8, /* "p(x)" is the verb too */
    VERB_ARGUMENT = 16,   /* may have one; others refuse it */
    VERB_DOT = 32,        /* its argument may be "." */
    VERB_OPTIONS = 64,    /* its argument may begin with "--" */
};

struct verb {
    const char *name;
    const char *aliases; /* separated by spaces; "" if none */
    /* 0, or -1 after an error was printed. */
    int (*run)(struct console *console, char *argument);
    unsigned flags;
    const char *synopsis; /* its arguments */
    const char *summary;
    const char *details; /* further lines of help, or NULL */
};

const struct verb *verbs_all(size_t *count);

int verb_help(struct console *console, char *argument);

/* console_run.c */
int verb_next(struct console *console, char *argument);
int verb_step(struct console *console, char *argument);
int verb_return(struct console *console, char *argument);
int verb_until(struct console *console, char *argument);
int verb_continue(struct console *console, char *argument);
int verb_remote(struct console *console, char *argument);
int verb_get(struct console *console, char *argument);
int verb_detach(struct console *console, char *argument);
int verb_quit(struct console *console, char *argument);

/* console_stack.c */
int verb_where(struct console *console, char *argument);
int verb_up(struct console *console, char *argument);
int verb_down(struct console *console, char *argument);
int verb_list(struct console *console, char *argument);
int verb_longlist(struct console *console, char *argument);

/* console_threads.c */
int verb_threads(struct console *console, char *argument);
int verb_thread(struct console *console, char *argument);
int verb_exceptioninfo(struct console *console, char *argument);

/* console_values.c */
int verb_print(struct console *console, char *argument);
int verb_pretty(struct console *console, char *argument);
int verb_python(struct console *console, char *argument);
int verb_whatis(struct console *console, char *argument);
int verb_source(struct console *console, char *argument);
int verb_args(struct console *console, char *argument);
int verb_locals(struct console *console, char *argument);
int verb_globals(struct console *console, char *argument);

/* console_objects.c */
int verb_objects(struct console *console, char *argument);

/* console_displays.c */
int verb_display(struct console *console, char *argument);
int verb_undisplay(struct console *console, char *argument);

/* console_breaks.c */
int verb_break(struct console *console, char *argument);
int verb_tbreak(struct console *console, char *argument);
int verb_condition(struct console *console, char *argument);
int verb_clear(struct console *console, char *argument);
int verb_enable(struct console *console, char *argument);
int verb_disable(struct console *console, char *argument);

#endif
