#include "relay/access/audit.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MAX = 10 * 1024 * 1024, FIELD_MAX = 1024, LINE_KEEP = 64 * 1024 };

struct audit {
    char *path; /* NULL: nothing is written */
    int fd;     /* -1: reopening the file failed */
    bool torn;  /* a line was written in part: the next one starts with a newline */
    bool warned;
    struct buf line;
};

/* A link in /dev, such as /dev/stderr, belongs to the system and is followed. Any other link may
 * have been planted there to have a file of this user's written, or made readable. */
static bool is_device(const char *path)
{
    return (text_starts(path, "/dev/") || text_starts(path, "/proc/self/fd/")) &&
           !strstr(path, "/..") && !text_starts(path, "/dev/shm/");
}

/* 0, or an errno. */
static int secure(int fd)
{
    struct stat file;
    if (fstat(fd, &file) != 0)
        return errno;
    if (!S_ISREG(file.st_mode))
        return 0;
    if (file.st_uid != geteuid() || file.st_nlink > 1)
        return EPERM;
    return (file.st_mode & 077) && fchmod(fd, 0600) != 0 ? errno : 0;
}

/* -1 with errno set. A pipe without a reader is an error: opening it does not block. */
static int open_file(const char *path)
{
    bool device = is_device(path);
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int fd = open(path, flags | (device ? 0 : O_CREAT | O_NOFOLLOW), 0600);
    int problem = fd >= 0 && !device ? secure(fd) : 0;
    if (problem) {
        close(fd);
        errno = problem;
        return -1;
    }
    return fd;
}

struct audit *audit_open(const char *path, struct err *err)
{
    struct audit *audit = mem_alloc(sizeof *audit);
    audit->fd = -1;
    if (strcmp(path, "none") == 0)
        return audit;
    audit->path = mem_string(path);
    audit->fd = open_file(path);
    if (audit->fd < 0) {
        err_set(err, ERR_FAILED, "the audit log %s cannot be opened", path);
        err_why(err, "%s",
                errno == ELOOP   ? "it is a symbolic link"
                : errno == EPERM ? "it is another user's, or has a second name (a hard link)"
                                 : strerror(errno));
        err_hint(err, "--audit-log FILE names another, --audit-log none turns it off");
        audit_close(&audit);
    }
    return audit;
}

void audit_close(struct audit **audit)
{
    if (!*audit)
        return;
    if ((*audit)->fd >= 0)
        close((*audit)->fd);
    free((*audit)->path);
    buf_free(&(*audit)->line);
    free(*audit);
    *audit = NULL;
}

static void add_time(struct buf *line)
{
    struct timespec now;
    struct tm utc;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    buf_printf(line, "{\"time\":\"%s.%03ldZ\"", text, now.tv_nsec / 1000000);
}

/* The length of `text`, cut to FIELD_MAX at a character's end. */
static size_t cut_at(const char *text)
{
    size_t len = strnlen(text, FIELD_MAX + 1);
    if (len <= FIELD_MAX)
        return len;
    size_t end = FIELD_MAX;
    while (end > FIELD_MAX - 4 && ((unsigned char)text[end] & 0xC0) == 0x80)
        end--;
    return end;
}

static void add_field(struct buf *line, const char *key, const char *value)
{
    if (!value)
        return;
    size_t len = cut_at(value);
    char *part = mem_format("%.*s%s", (int)len, value, value[len] ? "…" : "");
    buf_printf(line, ",\"%s\":", key);
    message_quote(line, part);
    free(part);
}

static void fill_line(struct audit *audit, const struct audit_entry *entry)
{
    const struct {
        const char *key, *value;
    } fields[] = {
        {"action", entry->action}, {"peer", entry->peer}, {"role", entry->role},
        {"client", entry->client}, {"task", entry->task}, {"pause", entry->pause},
        {"detail", entry->detail},
    };
    buf_clear(&audit->line, LINE_KEEP);
    if (audit->torn)
        buf_add(&audit->line, "\n", 1);
    add_time(&audit->line);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        add_field(&audit->line, fields[i].key, fields[i].value);
    buf_add(&audit->line, "}\n", 2);
}

/* Moves the full file away, unless another relay of this user, which writes to it as well, has done
 * so. False: the log goes on growing, which is better than losing a line. */
static bool rotate(const struct audit *audit, const struct stat *file)
{
    struct stat named;
    /* Each has the full file open: its lock keeps one from moving what another has begun since. */
    if (flock(audit->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return false;
    bool there = lstat(audit->path, &named) == 0;
    bool moved = there || errno == ENOENT;
    if (there && named.st_dev == file->st_dev && named.st_ino == file->st_ino) {
        char *old = mem_format("%s.1", audit->path);
        moved = rename(audit->path, old) == 0;
        free(old);
    }
    flock(audit->fd, LOCK_UN);
    return moved;
}

/* Has audit->fd refer to the file that takes the line: rotates or reopens it if necessary. */
static bool choose_file(struct audit *audit)
{
    struct stat file;
    if (audit->fd >= 0 && fstat(audit->fd, &file) == 0) {
        bool plain = S_ISREG(file.st_mode) && !is_device(audit->path);
        bool full = plain && file.st_size + (off_t)audit->line.len > FILE_MAX;
        bool removed = plain && file.st_nlink == 0;
        if (!full && !removed)
            return true;
        if (!removed && !rotate(audit, &file))
            return true;
        close(audit->fd);
        audit->fd = -1;
    }
    if (audit->fd < 0)
        audit->fd = open_file(audit->path);
    return audit->fd >= 0;
}

static bool write_line(struct audit *audit)
{
    if (!choose_file(audit))
        return false;
    ssize_t written;
    do
        written = write(audit->fd, audit->line.data, audit->line.len);
    while (written < 0 && errno == EINTR);
    if (written == (ssize_t)audit->line.len) {
        audit->torn = false;
        return true;
    }
    if (written >= 0) {
        audit->torn = true;
        errno = ENOSPC;
    }
    return false;
}

void audit_write(struct audit *audit, const struct audit_entry *entry)
{
    if (!audit || !audit->path)
        return;
    fill_line(audit, entry);
    if (write_line(audit)) {
        audit->warned = false;
    } else if (!audit->warned) {
        audit->warned = true;
        log_warn("the audit log %s cannot be written: %s: lines are lost", audit->path,
                 strerror(errno));
    }
}
