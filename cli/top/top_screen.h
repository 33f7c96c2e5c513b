/* The terminal of `raydbg memory --top`: ncurses, and the terminal's signals. */
#ifndef RAYDBG_CLI_TOP_TOP_SCREEN_H
#define RAYDBG_CLI_TOP_TOP_SCREEN_H

#include "base/err.h"
#include "cli/top/top_page.h"
#include "relay/io/loop.h"

struct top_screen;

struct top_screen_ops {
    void (*on_key)(void *arg, int key); /* a character, or enum top_key */
    void (*on_resize)(void *arg);       /* the size has changed, or the page must be redrawn */
    void (*on_end)(void *arg);          /* a signal requests the end, or the terminal is gone */
};

/* Takes the terminal until top_screen_close(). Until then, if stderr is a terminal, it keeps back
 * what is written there, and it handles SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT and
 * SIGWINCH. Ctrl-Z gives the terminal back until the process continues. NULL with `err` set if the
 * terminal cannot do this. */
struct top_screen *top_screen_open(struct loop *loop, const struct top_screen_ops *ops, void *arg,
                                   struct err *err);
/* Restores the terminal, stderr and the signals. */
void top_screen_close(struct top_screen **screen);

void top_screen_size(const struct top_screen *screen, int *columns, int *lines);
void top_screen_show(struct top_screen *screen, const struct top_page *page);

#endif
