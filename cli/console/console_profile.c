/* `profile next`: Python's own profiler over a step of the selected thread. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Evaluated in the paused thread, whose profiler it switches on. It is kept in cProfile. */
static const char begin[] = "(lambda c:(setattr(c,'_raydbg',c.Profile()),c._raydbg.enable(),"
                            "'on')[-1])(__import__('cProfile'))";

/* A line for each of the functions in which most of the time went, the debugger's own left out:
 * calls, ms in itself, ms with what it called. It takes the profiler out of cProfile. */
static const char end[] =
    "(lambda p,s:(p.disable(),'\\n'.join('%8d %8.1f %8.1f  %s'%(v[1],v[2]*1e3,v[3]*1e3,k[2] if "
    "k[0]=='~' "
    "else '%s:%d %s'%(k[0].rpartition('/')[2],k[1],k[2])) for k,v in "
    "sorted(s.Stats(p).stats.items(),key=lambda i:-i[1][3]) if v[3]>=5e-5 and k[0]!='<string>' "
    "and not any(w in k[0]+k[2] for w in ('pydevd','debugpy','_pydev','_lsprof','bdb.py')))"
    ")[1])(__import__('cProfile').__dict__.pop('_raydbg'),__import__('pstats'))";

enum { ROWS = 20 };

static const struct {
    const char *name;
    int (*run)(struct console *console, char *argument);
} ways[] = {
    {"next", console_verb_next},
    {"return", console_verb_return},
    {"continue", console_verb_continue},
};

static void show(struct console *console, const char *rows)
{
    struct buf out = {0};
    size_t count = 0;
    buf_add_string(&out, "   CALLS  SELF ms TOTAL ms  FUNCTION\n");
    for (const char *row = rows; *row && count < ROWS; count++) {
        size_t len = strcspn(row, "\n");
        char *printable = text_printable(row, len, "");
        buf_printf(&out, "%s\n", printable);
        free(printable);
        row += len + (row[len] == '\n');
    }
    console_write(console, &out);
}

int console_verb_profile(struct console *console, char *argument)
{
    int64_t thread = console->thread;
    int (*run)(struct console * console, char *argument) = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (text_equal(ways[i].name, argument))
            run = ways[i].run;
    if (!run)
        return console_error(console, "profile: 'profile next', 'profile return' or 'profile "
                                      "continue'");
    if (console->options->many)
        return console_error(console, "profile: attach to one task for it");
    char *text = value_text(console, begin);
    bool on = text_equal(text, "on");
    free(text);
    if (!on)
        return console_error(console, "profile: Python's profiler cannot be switched on here: "
                                      "another one may run");
    int result = run(console, (char[]){""});
    if (console->thread != thread)
        return console_error(console, "profile: the thread has not stopped again: no profile");
    text = value_text(console, end);
    if (text_empty(text))
        console_note(console, "no function took as much as 0.05 ms");
    else
        show(console, text);
    free(text);
    return result;
}
