/* The terminal of `raydbg memory --top`: ncurses, and the signals that have to do with it. */
#ifndef RAYDBG_CLI_TOP_SCREEN_H
#define RAYDBG_CLI_TOP_SCREEN_H

#include "base/err.h"
#include "cli/top_page.h"
#include "relay/loop.h"

struct top_screen;

struct top_screen_ops {
    void (*on_key)(void *arg, int key); /* a character, or enum top_key */
    void (*on_resize)(void *arg);       /* top_screen_size() has changed, or all is to be redrawn */
    void (*on_end)(void *arg);          /* a signal asks for the end, or the terminal is gone */
};

/* Takes the terminal: until top_screen_close() it is the screen's, what is written to a stderr that
 * is the terminal is kept back, and SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT and SIGWINCH
 * are the screen's too. Ctrl-Z gives it back and takes it again. NULL with `err` set where there is
 * no terminal that can do this. */
struct top_screen *top_screen_open(struct loop *loop, const struct top_screen_ops *ops, void *arg,
                                   struct err *err);
/* Gives back what was taken, as it was. */
void top_screen_close(struct top_screen **screen);

void top_screen_size(const struct top_screen *screen, int *columns, int *lines);
void top_screen_show(struct top_screen *screen, const struct top_page *page);

#endif
