#include "cli/prompt/prompt_input.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/prompt/console_paste.h"
#include "cli/prompt/prompt_history.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { IDLE_MS = 200, READ_SIZE = 4096, LINE_LIMIT = 16 << 20 };

struct input {
    enum input_status (*next)(struct input *input, const char **line, bool *was_empty);
    struct loop *loop;
    struct input_ops ops;
    void *arg;
    int fd;
    bool readable;
    bool over; /* on_idle() has ended the input */
    /* Commands. */
    const char *const *commands;
    size_t left;
    /* Lines. */
    struct buf bytes; /* bytes read; the first `used` are the last line returned */
    size_t used;
    bool ended;
    /* Terminal. */
    EditLine *editor;
    struct history_file *history;
    char *prompt;
    char further[16]; /* prompt of a further line; "": not one */
    bool pastes;      /* the terminal marks pastes */
    bool prompting;
    bool hidden;
    bool cleared, was_empty;
    char *line;
};

static volatile sig_atomic_t interrupts, end_asked, resized, resumed, stop_asked;

static void on_signal(int number)
{
    if (number == SIGINT)
        interrupts = 1;
    else if (number == SIGWINCH)
        resized = 1;
    else if (number == SIGCONT)
        resumed = 1;
    else if (number == SIGTSTP)
        stop_asked = 1;
    else
        end_asked = 1;
}

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT};
enum { CAUGHT = sizeof caught / sizeof *caught };
static struct sigaction before[CAUGHT];

void input_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    interrupts = end_asked = resized = resumed = stop_asked = 0;
    for (size_t i = 0; i < CAUGHT; i++)
        sigaction(caught[i], &action, &before[i]);
}

void input_release_signals(void)
{
    for (size_t i = 0; i < CAUGHT; i++)
        sigaction(caught[i], &before[i], NULL);
}

bool input_interrupted(void)
{
    bool was = interrupts != 0;
    interrupts = 0;
    return was;
}

bool input_is_interrupted(void)
{
    return interrupts != 0;
}

bool input_end_asked(void)
{
    return end_asked != 0;
}

/* --- waiting --- */

static void on_readable(void *arg)
{
    ((struct input *)arg)->readable = true;
}

static void refresh(struct input *input)
{
    if (!input->hidden)
        return;
    input->hidden = false;
    el_set(input->editor, EL_REFRESH);
}

/* An epoll that is readable when the input is. The loop makes what it watches non-blocking, and the
 * input's open file is the shell's, too, and that of all that it runs later. -1: the input needs no
 * waiting, as a regular file, or no descriptor is free. */
static int epoll_open(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0)
        return epoll;
    close(epoll);
    return -1;
}

/* Runs the loop until the input is readable; false if a signal or on_idle() ended that first. */
static bool await_readable(struct input *input)
{
    int epoll = epoll_open(input->fd);
    if (epoll < 0)
        return !interrupts && !end_asked;
    struct watch *watch = watch_start(input->loop, epoll, on_readable, input);
    input->readable = false;
    while (!input->readable && !interrupts && !end_asked && !resized && !resumed && !stop_asked) {
        input->over = !input->ops.on_idle(input->arg);
        if (input->over)
            break;
        if (input->prompting)
            refresh(input);
        loop_run_once(input->loop, IDLE_MS);
    }
    watch_stop(&watch);
    close(epoll);
    return input->readable;
}

/* --- a terminal --- */

static struct input *input_of(EditLine *editor)
{
    void *arg = NULL;
    el_get(editor, EL_CLIENTDATA, &arg);
    return arg;
}

static char *prompt_of(EditLine *editor)
{
    struct input *input = input_of(editor);
    return *input->further ? input->further : input->prompt;
}

/* A terminal that marks a paste gives it as one text with its line ends: the user edits it like
 * typed text, and Enter runs it. */
static void mark_pastes(const struct input *input, bool on)
{
    if (!input->pastes)
        return;
    fputs(on ? PASTE_ON : PASTE_OFF, stdout);
    fflush(stdout);
}

/* ^Z at the prompt: the shell gets the terminal as it was. */
static void suspend(struct input *input)
{
    struct sigaction usual = {.sa_handler = SIG_DFL}, ours;
    stop_asked = 0;
    mark_pastes(input, false);
    el_set(input->editor, EL_PREP_TERM, 0);
    sigaction(SIGTSTP, &usual, &ours);
    raise(SIGTSTP);
    sigaction(SIGTSTP, &ours, NULL);
    resumed = 1;
}

static void handle_signals(struct input *input)
{
    if (stop_asked)
        suspend(input);
    if (resized)
        el_resize(input->editor);
    if (resumed) { /* the shell has had the terminal, in its own mode */
        el_set(input->editor, EL_PREP_TERM, 0);
        el_set(input->editor, EL_PREP_TERM, 1);
        mark_pastes(input, true);
        el_set(input->editor, EL_REFRESH);
    }
    resized = resumed = 0;
}

/* Without a prompt ^Z stops the process at once, and the terminal has its usual mode. */
static void catch_stops(bool on)
{
    static struct sigaction usual;
    struct sigaction action = {.sa_handler = on_signal};
    if (on) {
        sigaction(SIGTSTP, NULL, &usual);
        if (usual.sa_handler != SIG_IGN)
            sigaction(SIGTSTP, &action, NULL);
        return;
    }
    sigaction(SIGTSTP, &usual, NULL);
    if (stop_asked)
        raise(SIGTSTP);
    stop_asked = 0;
}

/* One character for libedit, or its ^C for an interrupt. */
static int read_character(EditLine *editor, wchar_t *out)
{
    struct input *input = input_of(editor);
    mbstate_t state = {0};
    for (;;) {
        char byte;
        while (!await_readable(input)) {
            if (end_asked || input->over)
                return 0;
            handle_signals(input);
            if (input_interrupted()) {
                *out = 3;
                return 1;
            }
        }
        ssize_t got = read(input->fd, &byte, 1);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return 0;
        size_t used = mbrtowc(out, &byte, 1, &state);
        if (used == (size_t)-1)
            state = (mbstate_t){0}; /* not a character: dropped */
        else if (used != (size_t)-2)
            return 1;
    }
}

static unsigned char on_interrupt(EditLine *editor, int character)
{
    (void)character;
    struct input *input = input_of(editor);
    const LineInfoW *line = el_wline(editor);
    input->cleared = true;
    input->was_empty = line->buffer == line->lastchar;
    el_cursor(editor, (int)(line->lastchar - line->cursor));
    el_deletestr(editor, (int)(line->lastchar - line->buffer));
    fputs("^C\n", stdout);
    fflush(stdout);
    return CC_NEWLINE;
}

static void show_candidates(struct input *input, const struct candidates *candidates)
{
    fputc('\n', stdout);
    candidates_print(candidates, stdout);
    fflush(stdout);
    el_set(input->editor, EL_REFRESH);
}

static unsigned char on_tab(EditLine *editor, int character)
{
    (void)character;
    struct input *input = input_of(editor);
    const LineInfo *line = el_line(editor);
    size_t cursor = (size_t)(line->cursor - line->buffer);
    char *text = mem_string_n(line->buffer, (size_t)(line->lastchar - line->buffer));
    struct candidates candidates = {0};
    input->ops.complete(input->arg, text, cursor, &candidates);
    size_t common = candidates_common(&candidates);
    unsigned char result = CC_ERROR;
    if (candidates.count && common > candidates.typed) {
        char *rest =
            mem_string_n(candidates.words[0] + candidates.typed, common - candidates.typed);
        el_insertstr(editor, rest);
        free(rest);
        result = CC_REFRESH;
    } else if (candidates.count > 1) {
        show_candidates(input, &candidates);
        result = CC_NORM;
    }
    candidates_clear(&candidates);
    free(text);
    return result;
}

/* --- bracketed paste --- */

static unsigned char on_paste(EditLine *editor, int character)
{
    (void)character;
    struct paste paste = {0};
    wchar_t c;
    bool whole = false;
    while (!whole && read_character(editor, &c) == 1 && c != 3)
        whole = paste_feed(&paste, c);
    if (whole)
        el_winsertstr(editor, paste.text);
    paste_clear(&paste);
    return CC_REFRESH;
}

static enum input_status next_typed(struct input *input, const char **line, bool *was_empty)
{
    int count = 0;
    free(input->line);
    input->line = NULL;
    input->cleared = false;
    input->prompting = true;
    catch_stops(true);
    mark_pastes(input, true);
    const char *text = el_gets(input->editor, &count);
    mark_pastes(input, false);
    input->prompting = input->hidden = false;
    catch_stops(false);
    if (input->cleared) {
        *was_empty = input->was_empty;
        return INPUT_CLEARED;
    }
    if (!text || count <= 0)
        return INPUT_END;
    size_t len = strlen(text);
    while (len && strchr("\r\n", text[len - 1]))
        len--;
    input->line = mem_string_n(text, len);
    *line = input->line;
    return INPUT_LINE;
}

void input_set_prompt(struct input *input, const char *prompt)
{
    if (!input || !input->editor)
        return;
    free(input->prompt);
    input->prompt = mem_string(prompt);
}

void input_hide(struct input *input)
{
    if (!input || !input->prompting || input->hidden)
        return;
    input->hidden = true;
    fputs("\r\033[K", stdout);
}

/* libedit needs a locale with the terminal's characters. If none is set, this one is used, as in
 * Python (PEP 538). */
static void need_utf8(void)
{
    if (strcmp(nl_langinfo(CODESET), "ANSI_X3.4-1968") == 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

struct input *input_terminal(struct loop *loop, const char *prompt, const struct input_ops *ops,
                             void *arg)
{
    need_utf8();
    struct input *input = mem_alloc(sizeof *input);
    *input = (struct input){.next = next_typed,
                            .loop = loop,
                            .ops = *ops,
                            .arg = arg,
                            .fd = STDIN_FILENO,
                            .prompt = mem_string(prompt)};
    input->editor = el_init("raydbg", stdin, stdout, stderr);
    if (!input->editor) {
        free(input->prompt);
        free(input);
        return NULL;
    }
    input->history = history_file_open();
    EditLine *editor = input->editor;
    el_set(editor, EL_CLIENTDATA, input);
    el_set(editor, EL_PROMPT, prompt_of);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_HIST, history, history_file_history(input->history));
    el_set(editor, EL_GETCFN, read_character);
    /* Wide: libedit makes copies of narrow names that it never frees. */
    el_wset(editor, EL_ADDFN, L"raydbg-interrupt", L"clear the line", on_interrupt);
    el_wset(editor, EL_ADDFN, L"raydbg-complete", L"complete the word", on_tab);
    el_wset(editor, EL_ADDFN, L"raydbg-paste", L"insert what is pasted", on_paste);
    el_set(editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(editor, NULL);
    el_set(editor, EL_BIND, "^C", "raydbg-interrupt", NULL);
    el_set(editor, EL_BIND, "^I", "raydbg-complete", NULL);
    input->pastes = !text_equal(getenv("TERM"), "dumb");
    if (input->pastes)
        el_set(editor, EL_BIND, "\\e[200~", "raydbg-paste", NULL);
    return input;
}

/* --- lines of a file or pipe --- */

static enum input_status next_line(struct input *input, const char **line, bool *was_empty)
{
    (void)was_empty;
    buf_consume(&input->bytes, input->used);
    input->used = 0;
    for (;;) {
        char *newline = input->bytes.len ? memchr(input->bytes.data, '\n', input->bytes.len) : NULL;
        if (newline || (input->ended && input->bytes.len)) {
            size_t len = newline ? (size_t)(newline - input->bytes.data) : input->bytes.len;
            input->used = newline ? len + 1 : len;
            input->bytes.data[len] = '\0';
            *line = input->bytes.data;
            return INPUT_LINE;
        }
        if (input->ended || input->bytes.len > LINE_LIMIT)
            return INPUT_END;
        if (!await_readable(input)) {
            if (interrupts || end_asked || input->over)
                return INPUT_END;
            resized = resumed = 0;
            continue;
        }
        ssize_t got = read(input->fd, buf_reserve(&input->bytes, READ_SIZE), READ_SIZE);
        if (got > 0)
            input->bytes.len += (size_t)got;
        else if (got == 0 || (errno != EINTR && errno != EAGAIN))
            input->ended = true;
    }
}

struct input *input_lines(struct loop *loop, int fd, const struct input_ops *ops, void *arg)
{
    struct input *input = mem_alloc(sizeof *input);
    *input = (struct input){.next = next_line, .loop = loop, .ops = *ops, .arg = arg, .fd = fd};
    return input;
}

/* --- commands of the command line --- */

static enum input_status next_command(struct input *input, const char **line, bool *was_empty)
{
    (void)was_empty;
    if (!input->left || interrupts || end_asked)
        return INPUT_END;
    *line = *input->commands++;
    input->left--;
    return INPUT_LINE;
}

struct input *input_commands(const char *const *commands, size_t count)
{
    struct input *input = mem_alloc(sizeof *input);
    *input = (struct input){.next = next_command, .commands = commands, .left = count};
    return input;
}

/* --- all kinds --- */

enum input_status input_next(struct input *input, const char **line, bool *was_empty)
{
    *line = NULL;
    *was_empty = false;
    return input->next(input, line, was_empty);
}

enum input_status input_next_further(struct input *input, const char *prompt, const char **line,
                                     bool *was_empty)
{
    text_copy(input->further, sizeof input->further, prompt);
    enum input_status status = input_next(input, line, was_empty);
    *input->further = '\0';
    return status;
}

bool input_has_more(const struct input *input)
{
    return !input->commands;
}

void input_remember(struct input *input, const char *command)
{
    history_file_add(input->history, command);
}

void input_destroy(struct input **input)
{
    struct input *it = *input;
    if (!it)
        return;
    *input = NULL;
    if (it->editor)
        el_end(it->editor);
    history_file_close(&it->history);
    buf_free(&it->bytes);
    free(it->line);
    free(it->prompt);
    free(it);
}
