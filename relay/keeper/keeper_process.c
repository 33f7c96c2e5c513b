#include "relay/keeper/keeper_process.h"

#include "relay/io/daemon.h"
#include "relay/io/daemon_clock.h"
#include "relay/keeper/keeper_snapshots.h"
#include "relay/keeper/keeper_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    GUESTS = 8,
    GUEST_MS = 5000,  /* to say hello */
    START_MS = 10000, /* for the first relay to come */
    SPARE_FDS = 32,   /* hold no connections: the socket must go on accepting */
    LOG_MAX = 256 * 1024,
};

/* A connection to the keeper that is not served (yet). */
struct guest {
    int fd; /* -1: none */
    pid_t pid;
    int64_t deadline;
    bool waiting; /* for the served relay to leave */
    int64_t orphan_ms;
};

struct held {
    int fd;    /* 0: none */
    bool gone; /* the peer has closed it */
};

struct process {
    int log;
    size_t fd_limit;
    int64_t orphan_ms;
    int relay; /* -1: none */
    pid_t relay_pid;
    int64_t deadline; /* without a relay: when to close all connections */
    struct guest guests[GUESTS];
    struct held *held; /* by slot */
    uint32_t slots;    /* no slot from here on is used */
    uint32_t count;    /* held connections */
    struct pollfd *polls;
    bool end;
};

enum { POLL_LISTENER, POLL_RELAY, POLL_GUESTS, POLL_HELD = POLL_GUESTS + GUESTS };

static const char process_name[] = "raydbg-keeper";
static volatile sig_atomic_t terminated;

static void on_term(int number)
{
    (void)number;
    terminated = 1;
}

/* Writes a log line; errors are ignored. */
__attribute__((format(printf, 2, 3))) static void note(const struct process *process,
                                                       const char *format, ...)
{
    char line[512];
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t len = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%SZ ", &utc);
    len += (size_t)snprintf(line + len, sizeof line - len, "keeper[%d]: ", (int)getpid());
    va_list args;
    va_start(args, format);
    int text = vsnprintf(line + len, sizeof line - len - 1, format, args);
    va_end(args);
    len += text < 0 ? 0 : (size_t)text;
    if (len > sizeof line - 2)
        len = sizeof line - 2;
    line[len++] = '\n';
    if (write(process->log, line, len) < 0)
        return;
}

/* --- held connections --- */

static void drop(struct process *process, uint32_t slot)
{
    if (slot >= process->slots || !process->held[slot].fd)
        return;
    close(process->held[slot].fd);
    process->held[slot] = (struct held){0};
    process->count--;
    while (process->slots && !process->held[process->slots - 1].fd)
        process->slots--;
}

static bool keep(struct process *process, uint32_t slot, int fd)
{
    if (slot >= SNAPSHOT_SLOTS || process->held[slot].fd ||
        (size_t)fd + SPARE_FDS >= process->fd_limit)
        return false;
    process->held[slot] = (struct held){.fd = fd};
    process->count++;
    if (process->slots <= slot)
        process->slots = slot + 1;
    return true;
}

static bool is_watched(const struct held *held)
{
    return held->fd && !held->gone;
}

static bool any_peer_left(const struct process *process)
{
    for (uint32_t slot = 0; slot < process->slots; slot++)
        if (is_watched(&process->held[slot]))
            return true;
    return false;
}

static void let_go(struct process *process)
{
    while (process->slots)
        drop(process, process->slots - 1);
    process->end = true;
}

/* --- the relay that is served --- */

static void welcome(struct process *process, struct guest *guest)
{
    process->relay = guest->fd;
    process->relay_pid = guest->pid;
    process->orphan_ms = guest->orphan_ms;
    guest->fd = -1;
    struct keeper_message answer = {
        .kind = KEEPER_WELCOME, .pid = getpid(), .count = process->count};
    int memory = DAEMON_MEMORY_FD;
    keeper_send(process->relay, &answer, &memory, 1, false);
}

static void relay_gone(struct process *process, const char *how)
{
    close(process->relay);
    process->relay = -1;
    for (size_t i = 0; i < GUESTS; i++) {
        if (process->guests[i].fd >= 0 && process->guests[i].waiting) {
            welcome(process, &process->guests[i]);
            return;
        }
    }
    if (process->count == 0) {
        process->end = true;
        return;
    }
    note(process, "the relay (pid %d) %s; %u connections wait for the next one, at most %lld s",
         (int)process->relay_pid, how, (unsigned)process->count,
         (long long)(process->orphan_ms / 1000));
    process->deadline = daemon_now_ms() + process->orphan_ms;
}

static void answer_put(struct process *process, const struct keeper_message *message,
                       const int *fds, size_t fd_count)
{
    bool kept = fd_count == 1 && keep(process, message->slot, fds[0]);
    if (!kept) {
        note(process, "slot %u cannot be kept (%u are held)", (unsigned)message->slot,
             (unsigned)process->count);
        for (size_t i = 0; i < fd_count; i++)
            close(fds[i]);
    }
    struct keeper_message answer = {.kind = kept ? KEEPER_DONE : KEEPER_FULL, .tag = message->tag};
    keeper_send(process->relay, &answer, NULL, 0, false);
}

static void answer_take(struct process *process, const struct keeper_message *message)
{
    struct keeper_message answer = {.kind = KEEPER_GIVEN, .tag = message->tag};
    int fds[KEEPER_BATCH];
    uint32_t slot = message->slot;
    for (; slot < process->slots && answer.count < KEEPER_BATCH; slot++) {
        if (!process->held[slot].fd)
            continue;
        fds[answer.count] = process->held[slot].fd;
        answer.slots[answer.count++] = slot;
    }
    answer.slot = slot;
    if (!keeper_send(process->relay, &answer, fds, answer.count, false))
        note(process, "connections cannot be handed out: %s", strerror(errno));
}

static void answer_leave(struct process *process, const struct keeper_message *message)
{
    struct keeper_message answer = {
        .kind = KEEPER_LEFT, .tag = message->tag, .count = process->count};
    keeper_send(process->relay, &answer, NULL, 0, false);
    relay_gone(process, "has left");
}

/* Handles everything that the relay has sent, to the end if the relay is dead: its last KEEPER_PUT
 * may still be in the socket's queue. */
static void serve(struct process *process)
{
    int relay = process->relay;
    while (process->relay == relay && relay >= 0) {
        struct keeper_message message;
        int fds[KEEPER_BATCH];
        size_t fd_count;
        enum keeper_got got = keeper_receive(relay, &message, fds, &fd_count, false);
        if (got == KEEPER_NOTHING_YET)
            return;
        if (got == KEEPER_GONE) {
            relay_gone(process, "is gone without a word");
            return;
        }
        if (message.kind == KEEPER_PUT) {
            answer_put(process, &message, fds, fd_count);
            continue;
        }
        while (fd_count)
            close(fds[--fd_count]);
        if (message.kind == KEEPER_DROP)
            drop(process, message.slot);
        else if (message.kind == KEEPER_TAKE)
            answer_take(process, &message);
        else if (message.kind == KEEPER_LEAVE)
            answer_leave(process, &message);
    }
}

/* --- guests --- */

static void guest_close(struct guest *guest)
{
    close(guest->fd);
    guest->fd = -1;
}

static void guest_accept(struct process *process)
{
    struct guest *guest = process->guests;
    while (guest->fd >= 0)
        guest++;
    int fd = accept4(DAEMON_SOCKET_FD, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 || peer.uid != geteuid()) {
        note(process, "a connection of another user's was refused");
        close(fd);
        return;
    }
    *guest = (struct guest){.fd = fd, .pid = peer.pid, .deadline = daemon_now_ms() + GUEST_MS};
}

static bool somebody_waits(const struct process *process)
{
    for (size_t i = 0; i < GUESTS; i++)
        if (process->guests[i].fd >= 0 && process->guests[i].waiting)
            return true;
    return false;
}

static void guest_hello(struct process *process, struct guest *guest,
                        const struct keeper_message *hello)
{
    struct keeper_message answer = {
        .kind = KEEPER_VERSIONS, .pid = getpid(), .count = process->count};
    if (hello->version != KEEPER_PROTOCOL) {
        note(process, "a relay (pid %d) that speaks version %u was refused", (int)guest->pid,
             (unsigned)hello->version);
        keeper_send(guest->fd, &answer, NULL, 0, false);
        guest_close(guest);
        return;
    }
    guest->orphan_ms = hello->ms;
    serve(process); /* the served relay may be dead by now */
    if (process->end) {
        guest_close(guest);
        return;
    }
    if (process->relay < 0) {
        welcome(process, guest);
        return;
    }
    bool wait = hello->flag && !somebody_waits(process);
    answer.kind = wait ? KEEPER_WAIT : KEEPER_REFUSED;
    answer.pid = process->relay_pid;
    keeper_send(guest->fd, &answer, NULL, 0, false);
    if (wait) {
        guest->waiting = true;
        guest->deadline = daemon_now_ms() + KEEPER_WAIT_MS;
    } else {
        guest_close(guest);
    }
}

static void guest_receive(struct process *process, struct guest *guest)
{
    struct keeper_message message;
    int fds[KEEPER_BATCH];
    size_t fd_count;
    enum keeper_got got = keeper_receive(guest->fd, &message, fds, &fd_count, false);
    while (fd_count)
        close(fds[--fd_count]);
    if (got == KEEPER_GOT && message.kind == KEEPER_HELLO && !guest->waiting)
        guest_hello(process, guest, &message);
    else if (got != KEEPER_NOTHING_YET)
        guest_close(guest);
}

/* --- the loop --- */

static size_t fill_polls(struct process *process)
{
    struct pollfd *polls = process->polls;
    bool room = false;
    for (size_t i = 0; i < GUESTS; i++) {
        polls[POLL_GUESTS + i] = (struct pollfd){.fd = process->guests[i].fd, .events = POLLIN};
        room |= process->guests[i].fd < 0;
    }
    polls[POLL_LISTENER] = (struct pollfd){.fd = room ? DAEMON_SOCKET_FD : -1, .events = POLLIN};
    polls[POLL_RELAY] = (struct pollfd){.fd = process->relay, .events = POLLIN};
    if (process->relay >= 0)
        return POLL_HELD;
    /* Without a relay, only the end of a held connection is of interest. */
    size_t count = POLL_HELD;
    for (uint32_t slot = 0; slot < process->slots; slot++)
        if (is_watched(&process->held[slot]))
            polls[count++] = (struct pollfd){.fd = process->held[slot].fd, .events = POLLRDHUP};
    return count;
}

/* Walks the slots as fill_polls() does. */
static void look_at_held(struct process *process, size_t polled)
{
    bool news = false;
    size_t next = POLL_HELD;
    for (uint32_t slot = 0; slot < process->slots && next < polled; slot++) {
        if (!is_watched(&process->held[slot]) || !process->polls[next++].revents)
            continue;
        process->held[slot].gone = true;
        news = true;
    }
    if (news && !any_peer_left(process)) {
        note(process, "every task that was held has ended");
        let_go(process);
    }
}

static int64_t next_deadline(const struct process *process)
{
    int64_t next = process->relay < 0 ? process->deadline : INT64_MAX;
    for (size_t i = 0; i < GUESTS; i++)
        if (process->guests[i].fd >= 0 && process->guests[i].deadline < next)
            next = process->guests[i].deadline;
    return next;
}

static void look_at_clock(struct process *process)
{
    int64_t now = daemon_now_ms();
    for (size_t i = 0; i < GUESTS; i++)
        if (process->guests[i].fd >= 0 && process->guests[i].deadline <= now)
            guest_close(&process->guests[i]);
    if (process->relay >= 0 || process->deadline > now)
        return;
    if (process->count)
        note(process, "warning: no relay came within %lld s: %u connections are let go",
             (long long)(process->orphan_ms / 1000), (unsigned)process->count);
    let_go(process);
}

static void turn(struct process *process)
{
    size_t polled = fill_polls(process);
    int64_t wait = next_deadline(process);
    if (wait != INT64_MAX) {
        wait -= daemon_now_ms();
        wait = wait < 0 ? 0 : wait;
    }
    sigset_t none;
    sigemptyset(&none);
    int ready = daemon_wait(process->polls, polled, wait == INT64_MAX ? -1 : wait, &none);
    if (terminated) {
        note(process, "SIGTERM: %u connections are let go", (unsigned)process->count);
        let_go(process);
        return;
    }
    if (ready < 0 && errno != EINTR)
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    if (ready > 0) {
        look_at_held(process, polled);
        if (process->polls[POLL_RELAY].revents)
            serve(process);
        for (size_t i = 0; i < GUESTS && !process->end; i++)
            if (process->polls[POLL_GUESTS + i].revents && process->guests[i].fd >= 0)
                guest_receive(process, &process->guests[i]);
        if (process->polls[POLL_LISTENER].revents && !process->end)
            guest_accept(process);
    }
    if (!process->end)
        look_at_clock(process);
}

/* --- from start to end --- */

static int open_log(const char *path)
{
    char name[PATH_MAX];
    if (snprintf(name, sizeof name, "%s.log", path) >= (int)sizeof name)
        return -1;
    int fd = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat file;
    if (fd >= 0 && fstat(fd, &file) == 0 && file.st_size > LOG_MAX && ftruncate(fd, 0) != 0)
        return fd;
    return fd;
}

/* Removes the socket's file, if it is still this keeper's, before it closes the socket: a relay
 * that cannot connect may create a new file. */
static void remove_socket(const char *path, const struct stat *mine)
{
    struct stat file;
    if (lstat(path, &file) == 0 && file.st_ino == mine->st_ino && file.st_dev == mine->st_dev)
        unlink(path);
    close(DAEMON_SOCKET_FD);
}

static void run(const char *path)
{
    signal(SIGTERM, on_term);
    struct process process = {.relay = -1, .deadline = daemon_now_ms() + START_MS};
    process.log = open_log(path);
    process.held = daemon_zeroes(SNAPSHOT_SLOTS * sizeof *process.held);
    process.polls = daemon_zeroes((POLL_HELD + SNAPSHOT_SLOTS) * sizeof *process.polls);
    for (size_t i = 0; i < GUESTS; i++)
        process.guests[i].fd = -1;
    struct rlimit limit;
    process.fd_limit = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (size_t)limit.rlim_cur : 1024;
    struct stat mine;
    if (lstat(path, &mine) != 0)
        return;
    note(&process, "starts");
    while (!process.end)
        turn(&process);
    remove_socket(path, &mine);
    note(&process, "ends");
}

int keeper_process_start(int listener, int memory, const char *path)
{
    return daemon_spawn(process_name, listener, memory, path);
}

static bool has_listener(void)
{
    int listens = 0;
    socklen_t len = sizeof listens;
    return getsockopt(DAEMON_SOCKET_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens;
}

void keeper_process_resume(int argc, char **argv)
{
    daemon_resume(argc, argv, process_name, has_listener, run);
}
