#include "cli/common/terminal.h"

#include "base/mem.h"
#include "base/text.h"

#include <langinfo.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum { PLAIN_COLUMNS = 100, PLAIN_ROWS = 40, PROGRESS_MS = 300 };

bool terminal_colour(FILE *stream)
{
    return isatty(fileno(stream)) && text_empty(getenv("NO_COLOR")) &&
           !text_equal(getenv("TERM"), "dumb");
}

bool terminal_utf8(void)
{
    return text_equal(nl_langinfo(CODESET), "UTF-8");
}

int terminal_columns(FILE *stream)
{
    struct winsize size;
    if (!isatty(fileno(stream)) || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 ||
        size.ws_col == 0)
        return PLAIN_COLUMNS;
    return size.ws_col;
}

int terminal_rows(FILE *stream)
{
    struct winsize size;
    if (!isatty(fileno(stream)) || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 ||
        size.ws_row == 0)
        return PLAIN_ROWS;
    return size.ws_row;
}

int terminal_table_columns(FILE *stream)
{
    return isatty(fileno(stream)) ? terminal_columns(stream) : SHRT_MAX;
}

int terminal_width(const char *text)
{
    mbstate_t state = {0};
    int width = 0;
    size_t left = strlen(text);
    while (left) {
        wchar_t wide;
        size_t len = mbrtowc(&wide, text, left, &state);
        if (len == (size_t)-1 || len == (size_t)-2) {
            state = (mbstate_t){0};
            len = 1;
            width++;
        } else {
            int columns = wcwidth(wide);
            width += columns > 0 ? columns : 0;
        }
        text += len;
        left -= len;
    }
    return width;
}

/* Uses its own thread: the caller may block in a call that runs no loop. */
struct progress {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;
    bool stopped, shown;
    char *text;
};

static void *show_later(void *arg)
{
    struct progress *progress = arg;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PROGRESS_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&progress->lock);
    int rc = 0;
    while (!progress->stopped && rc == 0)
        rc = pthread_cond_timedwait(&progress->stop, &progress->lock, &until);
    if (!progress->stopped) {
        fprintf(stderr, "%s\r", progress->text);
        progress->shown = true;
    }
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

struct progress *progress_start(const char *text)
{
    if (!isatty(STDERR_FILENO))
        return NULL;
    struct progress *progress = mem_alloc(sizeof *progress);
    progress->text = mem_string(text);
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->stop, NULL);
    if (pthread_create(&progress->thread, NULL, show_later, progress) == 0)
        return progress;
    free(progress->text);
    free(progress);
    return NULL;
}

void progress_stop(struct progress **progress)
{
    struct progress *it = *progress;
    if (!it)
        return;
    *progress = NULL;
    pthread_mutex_lock(&it->lock);
    it->stopped = true;
    pthread_cond_signal(&it->stop);
    pthread_mutex_unlock(&it->lock);
    pthread_join(it->thread, NULL);
    if (it->shown)
        fputs("\033[2K\r", stderr);
    pthread_cond_destroy(&it->stop);
    pthread_mutex_destroy(&it->lock);
    free(it->text);
    free(it);
}
