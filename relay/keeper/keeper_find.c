#include "relay/keeper/keeper_find.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/keeper/keeper_process.h"
#include "relay/keeper/keeper_snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_MS = 5000, STEP_MS = 10, BACKLOG = 64 };

/* Where the keeper's socket is. */
struct socket_path {
    char *directory; /* absolute */
    char *name;      /* of the socket, in the directory */
    char *path;
    int fd; /* of the directory */
};

static void socket_path_clear(struct socket_path *at)
{
    free(at->directory);
    free(at->name);
    free(at->path);
    if (at->fd >= 0)
        close(at->fd);
}

static int make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = mkdir(path, 0700);
        *slash = '/';
        if (made != 0 && errno != EEXIST)
            return -1;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

static int check_directory(const struct socket_path *at, struct err *err)
{
    struct stat directory;
    if (fstat(at->fd, &directory) != 0) {
        err_set(err, ERR_FAILED, "%s cannot be looked at", at->directory);
        return err_why(err, "%s", strerror(errno));
    }
    if (directory.st_uid == geteuid() && (directory.st_mode & 077) == 0)
        return 0;
    err_set(err, ERR_FAILED, "the keeper's socket cannot be in %s", at->directory);
    err_why(err, "the directory is open to other users (mode %03o, owner %u)",
            (unsigned)directory.st_mode & 0777, (unsigned)directory.st_uid);
    return err_hint(err, "chmod 700 %s", at->directory);
}

static int socket_path_open(struct socket_path *at, const char *path, struct err *err)
{
    *at = (struct socket_path){.fd = -1};
    const char *slash = strrchr(path, '/');
    char *directory = !slash          ? mem_string(".")
                      : slash == path ? mem_string("/")
                                      : mem_string_n(path, (size_t)(slash - path));
    at->name = mem_string(slash ? slash + 1 : path);
    if (make_directories(directory) == 0)
        at->directory = realpath(directory, NULL);
    if (at->directory)
        at->fd = open(at->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at->fd < 0) {
        err_set(err, ERR_FAILED, "the keeper's directory %s cannot be used", directory);
        err_why(err, "%s", strerror(errno));
        free(directory);
        return -1;
    }
    free(directory);
    at->path = mem_format("%s/%s", at->directory, at->name);
    return check_directory(at, err);
}

/* A path too long for a socket's address is expressed by the directory's descriptor. */
static int address_of(const struct socket_path *at, const char *name, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    char *direct = mem_format("%s/%s", at->directory, name);
    char *short_cut = mem_format("/proc/self/fd/%d/%s", at->fd, name);
    bool fits = text_copy(address->sun_path, sizeof address->sun_path, direct) ||
                text_copy(address->sun_path, sizeof address->sun_path, short_cut);
    free(direct);
    free(short_cut);
    errno = ENAMETOOLONG;
    return fits ? 0 : -1;
}

/* --- the lock --- */

static int lock_take(const struct socket_path *at, struct err *err)
{
    char *name = mem_format("%s.lock", at->name);
    int fd = openat(at->fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    free(name);
    int tries = LOCK_MS / STEP_MS;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EINTR && (errno != EWOULDBLOCK || tries-- == 0)) {
            int why = errno;
            close(fd);
            errno = why;
            fd = -1;
        } else {
            nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
        }
    }
    if (fd < 0) {
        err_set(err, ERR_FAILED, "%s.lock cannot be locked", at->path);
        err_why(err, "%s",
                errno == EWOULDBLOCK ? "another relay has been starting for 5 s" : strerror(errno));
    }
    return fd;
}

/* Unlocks first: the keeper may have inherited `fd`, and then closing it here does not unlock. */
static void lock_release(int fd)
{
    flock(fd, LOCK_UN);
    close(fd);
}

/* --- connecting --- */

/* -1 with errno set. */
static int dial(const struct socket_path *at)
{
    struct sockaddr_un address;
    if (address_of(at, at->name, &address) != 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    /* A full backlog would block connect(): SO_SNDTIMEO limits that, too. */
    struct timeval limit = {.tv_sec = 2};
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        errno = why;
        return -1;
    }
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 || peer.uid != geteuid()) {
        close(fd);
        errno = EACCES;
        return -1;
    }
    return fd;
}

/* Listens under another name first, so that a process that sees the file can connect. */
static int listen_at(const struct socket_path *at)
{
    char *name = mem_format(".%s.%d", at->name, (int)getpid());
    struct sockaddr_un address;
    int fd = -1;
    int why;
    unlinkat(at->fd, name, 0);
    if (address_of(at, name, &address) != 0 ||
        (fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        fchmodat(at->fd, name, 0600, 0) != 0 || listen(fd, BACKLOG) != 0 ||
        renameat(at->fd, name, at->fd, at->name) != 0) {
        why = errno;
        if (fd >= 0)
            close(fd);
        unlinkat(at->fd, name, 0);
        errno = why;
        fd = -1;
    }
    why = errno;
    free(name);
    errno = why;
    return fd;
}

static int start_process(const struct socket_path *at, struct err *err)
{
    int memory = keeper_snapshots_create(err);
    if (memory < 0)
        return -1;
    int listener = listen_at(at);
    int started = listener < 0 ? -1 : keeper_process_start(listener, memory, at->path);
    int why = errno;
    if (listener >= 0)
        close(listener);
    close(memory);
    if (started == 0)
        return 0;
    err_set(err, ERR_FAILED, "no keeper can be started at %s", at->path);
    return err_why(err, "%s", strerror(why));
}

int keeper_find(const char *path, struct err *err)
{
    struct socket_path at;
    int fd = -1;
    int lock = -1;
    if (socket_path_open(&at, path, err) == 0)
        lock = lock_take(&at, err);
    if (lock >= 0) {
        fd = dial(&at);
        bool dead = fd < 0 && (errno == ENOENT || errno == ECONNREFUSED);
        bool started = dead && start_process(&at, err) == 0;
        if (started)
            fd = dial(&at);
        if (fd < 0 && (started || !dead)) {
            err_set(err, ERR_FAILED, "the keeper at %s cannot be reached", at.path);
            err_why(err, "%s", strerror(errno));
        }
        lock_release(lock);
    }
    socket_path_clear(&at);
    return fd;
}
