#include "cli/prompt/prompt_history.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of more than MOST lines is cut to KEPT when it is opened. Each line is a command, in which
 * BREAK is a line end. */
enum { KEPT = 1000, MOST = 2 * KEPT, BREAK = 0x1E };

struct history_file {
    History *history;
    int fd; /* -1: none */
    char *last;
};

/* Makes the directories above `path` that are missing. */
static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

static char *history_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state == '/')
        return mem_format("%s/raydbg/history", state);
    return home && *home == '/' ? mem_format("%s/.local/state/raydbg/history", home) : NULL;
}

static void swap_breaks(char *text, char from, char to)
{
    for (; (text = strchr(text, from)); text++)
        *text = to;
}

static void enter(struct history_file *file, const char *line)
{
    HistEvent event;
    history(file->history, &event, H_ENTER, line);
}

/* Replaces the file by its last lines; returns the new one's descriptor, or -1. */
static int rewrite(const char *path, char *const *lines, size_t count)
{
    char *fresh = mem_format("%s.%ld", path, (long)getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    bool ok = fd >= 0;
    for (size_t i = 0; ok && i < count; i++)
        ok = dprintf(fd, "%s\n", lines[i]) > 0;
    ok = ok && rename(fresh, path) == 0;
    if (!ok) {
        unlink(fresh);
        if (fd >= 0)
            close(fd);
    }
    free(fresh);
    return ok ? fd : -1;
}

static void load(struct history_file *file, const char *path)
{
    FILE *stream = fopen(path, "re");
    char **lines = NULL, *line = NULL;
    size_t count = 0, room = 0, size = 0;
    while (stream && getline(&line, &size, stream) > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!*line)
            continue;
        lines = mem_grow(lines, count, &room, sizeof *lines);
        lines[count++] = mem_string(line);
    }
    if (stream)
        fclose(stream);
    size_t skip = count > KEPT ? count - KEPT : 0;
    int fd = count > MOST ? rewrite(path, lines + skip, count - skip) : -1;
    if (fd >= 0) {
        close(file->fd);
        file->fd = fd;
    }
    for (size_t i = skip; i < count; i++) {
        swap_breaks(lines[i], BREAK, '\n');
        enter(file, lines[i]);
    }
    for (size_t i = 0; i < count; i++)
        free(lines[i]);
    free(lines);
    free(line);
}

struct history_file *history_file_open(void)
{
    struct history_file *file = mem_alloc(sizeof *file);
    HistEvent event;
    file->history = history_init();
    history(file->history, &event, H_SETSIZE, MOST);
    char *path = history_path();
    file->fd = -1;
    if (path) {
        make_directories(path);
        file->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (file->fd >= 0) {
        fchmod(file->fd, 0600);
        load(file, path);
    }
    free(path);
    return file;
}

History *history_file_history(struct history_file *file)
{
    return file->history;
}

void history_file_add(struct history_file *file, const char *line)
{
    if (!*line || *line == ' ' || text_equal(line, file->last))
        return;
    free(file->last);
    file->last = mem_string(line);
    enter(file, line);
    char *stored = mem_string(line);
    swap_breaks(stored, '\n', BREAK);
    if (file->fd >= 0)
        dprintf(file->fd, "%s\n", stored);
    free(stored);
}

void history_file_close(struct history_file **file)
{
    struct history_file *it = *file;
    if (!it)
        return;
    *file = NULL;
    history_end(it->history);
    if (it->fd >= 0)
        close(it->fd);
    free(it->last);
    free(it);
}
