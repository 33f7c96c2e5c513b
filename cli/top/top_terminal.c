#include "cli/top/top_terminal.h"

#include "base/text.h"

#include <ncurses.h>
#include <stdlib.h>
#include <unistd.h>

#include <term.h> /* only in this file: it has macros such as `lines` */

int top_terminal_refuse(struct err *err, const char *why)
{
    err_set(err, ERR_USAGE, "--top needs a terminal on stdin and stdout");
    err_why(err, "%s", why);
    return err_hint(err, "without one: raydbg memory --format table, json, yaml or csv");
}

int top_terminal_check(struct err *err)
{
    const char *type = getenv("TERM");
    int known;
    if (!isatty(STDIN_FILENO))
        return top_terminal_refuse(err, "stdin is none");
    if (!isatty(STDOUT_FILENO))
        return top_terminal_refuse(err, "stdout is none");
    if (text_empty(type) || text_equal(type, "dumb"))
        return top_terminal_refuse(err,
                                   text_empty(type) ? "TERM is not set" : "TERM=dumb cannot do it");
    if (setupterm(NULL, STDOUT_FILENO, &known) != OK)
        return top_terminal_refuse(err, "what TERM names is not known here");
    bool moves = tigetstr("cup") && tigetstr("cup") != (char *)-1;
    del_curterm(cur_term);
    return moves ? 0 : top_terminal_refuse(err, "what TERM names cannot move its cursor");
}
