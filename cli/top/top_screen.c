#include "cli/top/top_screen.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/terminal.h"
#include "cli/top/top_model.h"
#include "cli/top/top_signals.h"
#include "cli/top/top_terminal.h"

#include <fcntl.h>
#include <langinfo.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

/* How long a lone Esc waits for the rest of an arrow key. */
enum { ESCAPE_MS = 25 };

struct top_screen {
    struct loop *loop;
    const struct top_screen_ops *ops;
    void *arg;
    SCREEN *curses;
    struct watch *input;
    struct top_signals *signals;
    int input_flags; /* of stdin's file, which the shell shares */
    int errors;      /* the stderr that was replaced; -1: none */
    chtype looks[TOP_ATTR_COUNT];
};

/* --- the terminal's state --- */

static void keep_errors_back(struct top_screen *screen)
{
    screen->errors = -1;
    if (!isatty(STDERR_FILENO))
        return;
    int kept = memfd_create("raydbg-stderr", MFD_CLOEXEC);
    if (kept < 0)
        return;
    screen->errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (screen->errors >= 0)
        dup2(kept, STDERR_FILENO);
    close(kept);
}

static void let_errors_out(struct top_screen *screen)
{
    char text[4096];
    ssize_t len;
    if (screen->errors < 0)
        return;
    fflush(stderr);
    lseek(STDERR_FILENO, 0, SEEK_SET);
    while ((len = read(STDERR_FILENO, text, sizeof text)) > 0)
        if (write(screen->errors, text, (size_t)len) < 0)
            break;
    dup2(screen->errors, STDERR_FILENO);
    close(screen->errors);
    screen->errors = -1;
}

static void choose_looks(struct top_screen *screen)
{
    static const struct {
        enum top_attr attr;
        short front, back;
        chtype with, without; /* colours */
    } looks[] = {
        {TOP_PLAIN, 0, 0, A_NORMAL, A_NORMAL},
        {TOP_BOLD, 0, 0, A_BOLD, A_BOLD},
        {TOP_DIM, 0, 0, A_DIM, A_NORMAL},
        {TOP_TITLE, COLOR_BLACK, COLOR_GREEN, A_NORMAL, A_BOLD | A_UNDERLINE},
        {TOP_SELECTED, COLOR_BLACK, COLOR_CYAN, A_NORMAL, A_REVERSE},
        {TOP_BAR, COLOR_GREEN, -1, A_NORMAL, A_NORMAL},
        {TOP_GROWN, COLOR_YELLOW, -1, A_NORMAL, A_NORMAL},
        {TOP_SHRUNK, COLOR_GREEN, -1, A_NORMAL, A_NORMAL},
        {TOP_WARNING, COLOR_RED, -1, A_BOLD, A_BOLD},
        {TOP_KEY, COLOR_BLACK, COLOR_CYAN, A_NORMAL, A_REVERSE},
    };
    bool colours = terminal_colour(stdout) && has_colors() && start_color() == OK;
    if (colours)
        use_default_colors();
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        short pair = (short)(i + 1);
        bool plain = looks[i].front == looks[i].back;
        if (colours && !plain)
            init_pair(pair, looks[i].front, looks[i].back);
        screen->looks[looks[i].attr] =
            colours ? looks[i].with | (plain ? 0 : (chtype)COLOR_PAIR(pair)) : looks[i].without;
    }
}

/* Sets the keyboard's modes, also after the shell has had the terminal. */
static void set_modes(void)
{
    cbreak();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
}

/* --- keys --- */

static int key_of(int code, bool special)
{
    static const struct {
        int code, key;
    } keys[] = {
        {KEY_UP, TOP_KEY_UP},          {KEY_DOWN, TOP_KEY_DOWN},     {KEY_LEFT, TOP_KEY_LEFT},
        {KEY_RIGHT, TOP_KEY_RIGHT},    {KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
        {KEY_HOME, TOP_KEY_HOME},      {KEY_END, TOP_KEY_END},       {KEY_ENTER, TOP_KEY_ENTER},
        {KEY_BACKSPACE, TOP_KEY_BACK},
    };
    if (!special)
        return code == '\r' || code == '\n'   ? TOP_KEY_ENTER
               : code == '\b' || code == 0x7F ? TOP_KEY_BACK
               : code == 0x1B                 ? TOP_KEY_ESCAPE
                                              : code;
    if (code >= KEY_F(1) && code <= KEY_F(10))
        return TOP_KEY_F1 + code - KEY_F(1);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].code == code)
            return keys[i].key;
    return TOP_KEY_NONE;
}

static bool hung_up(void)
{
    struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
    int waiting = 1;
    if (poll(&fd, 1, 0) <= 0)
        return false;
    if (fd.revents & (POLLHUP | POLLERR | POLLNVAL))
        return true;
    return ioctl(STDIN_FILENO, FIONREAD, &waiting) != 0 || waiting == 0;
}

static void on_input(void *arg)
{
    struct top_screen *screen = arg;
    wint_t code;
    int got;
    while ((got = get_wch(&code)) != ERR)
        screen->ops->on_key(screen->arg, key_of((int)code, got == KEY_CODE_YES));
    if (hung_up()) {
        watch_stop(&screen->input);
        screen->ops->on_end(screen->arg);
    }
}

/* --- signals --- */

static void take_back(struct top_screen *screen)
{
    struct winsize size;
    fcntl(STDIN_FILENO, F_SETFL, screen->input_flags | O_NONBLOCK);
    reset_prog_mode();
    set_modes();
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        resizeterm(size.ws_row, size.ws_col);
    clearok(curscr, TRUE);
    screen->ops->on_resize(screen->arg);
}

/* On a terminal without an alternate screen, the shell writes into the last line: clears it. */
static void leave(void)
{
    move(LINES - 1, 0);
    clrtoeol();
    refresh();
    endwin();
}

static void suspend(struct top_screen *screen)
{
    leave();
    fcntl(STDIN_FILENO, F_SETFL, screen->input_flags);
    top_signals_suspend(screen->signals);
    refresh();
    take_back(screen);
}

static void on_signal(void *arg, int number)
{
    struct top_screen *screen = arg;
    if (number == SIGTSTP)
        suspend(screen);
    else if (number == SIGCONT || number == SIGWINCH)
        take_back(screen);
    else
        screen->ops->on_end(screen->arg);
}

/* --- opening and closing --- */

struct top_screen *top_screen_open(struct loop *loop, const struct top_screen_ops *ops, void *arg,
                                   struct err *err)
{
    if (top_terminal_check(err) != 0)
        return NULL;
    struct top_screen *screen = mem_alloc(sizeof *screen);
    *screen = (struct top_screen){.loop = loop, .ops = ops, .arg = arg};
    screen->input_flags = fcntl(STDIN_FILENO, F_GETFL);
    /* Before ncurses, which then installs no handlers of its own. */
    screen->signals = top_signals_start(loop, on_signal, screen);
    screen->curses = newterm(NULL, stdout, stdin);
    if (!screen->curses) {
        top_terminal_refuse(err, "ncurses cannot use it");
        screen->errors = -1;
        top_screen_close(&screen);
        return NULL;
    }
    set_escdelay(ESCAPE_MS);
    set_modes();
    choose_looks(screen);
    keep_errors_back(screen);
    screen->input = watch_start(loop, STDIN_FILENO, on_input, screen);
    return screen;
}

void top_screen_close(struct top_screen **screen)
{
    struct top_screen *it = *screen;
    if (!it)
        return;
    *screen = NULL;
    watch_stop(&it->input);
    if (it->curses) {
        leave();
        delscreen(it->curses);
    }
    fcntl(STDIN_FILENO, F_SETFL, it->input_flags);
    let_errors_out(it);
    top_signals_stop(&it->signals);
    free(it);
}

void top_screen_size(const struct top_screen *screen, int *columns, int *lines)
{
    (void)screen;
    *columns = getmaxx(stdscr);
    *lines = getmaxy(stdscr);
}

void top_screen_show(struct top_screen *screen, const struct top_page *page)
{
    erase();
    for (int i = 0; i < page->height; i++) {
        move(i, 0);
        for (size_t k = 0; k < page->lines[i].count; k++) {
            attrset((int)screen->looks[page->lines[i].cells[k].attr]);
            addstr(page->lines[i].cells[k].text);
        }
    }
    attrset(A_NORMAL);
    curs_set(page->cursor >= 0);
    if (page->cursor >= 0)
        move(page->height - 1, page->cursor);
    refresh();
}
