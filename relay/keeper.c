#include "relay/keeper.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "relay/keeper_find.h"
#include "relay/keeper_wire.h"
#include "relay/loop.h"
#include "relay/snapshots.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    CALL_MS = 1000,   /* for the keeper to answer */
    HELLO_MS = 3000,  /* it may have just been forked */
    DYING_MS = 500,   /* for the connection of a relay that was just killed to close */
    PAUSE_MS = 10000, /* after an answer that did not come in time no other is waited for */
};

enum slot_state {
    SLOT_FREE,
    SLOT_KEPT,     /* has a struct kept */
    SLOT_FOUND,    /* an earlier relay's, not handed out */
    SLOT_DROPPING, /* KEEPER_DROP could not be sent yet */
};

struct kept {
    struct keeper *keeper;
    uint32_t slot;
};

struct slot {
    enum slot_state state;
    struct kept *kept; /* SLOT_KEPT */
    int fd;            /* SLOT_FOUND; -1: it did not get through */
};

struct keeper {
    int socket; /* -1: the keeper is dead */
    int pid;
    int memory;
    struct snapshots *snapshots;
    struct slot *slots;
    uint32_t count;
    size_t dropping; /* slots in SLOT_DROPPING */
    uint32_t tag;
    int64_t not_before_us; /* see PAUSE_MS */
};

/* --- talking --- */

static void set_limit(int fd, int64_t ms)
{
    struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

static void lose(struct keeper *keeper)
{
    log_warn("the keeper (pid %d) is gone: what is held now ends with this relay", keeper->pid);
    close(keeper->socket);
    keeper->socket = -1;
}

/* False if nothing may be asked now. */
static bool is_ready(const struct keeper *keeper)
{
    return keeper && keeper->socket >= 0 && loop_now_us() >= keeper->not_before_us;
}

static bool say(struct keeper *keeper, struct keeper_message *message, const int *fds,
                size_t fd_count)
{
    message->tag = ++keeper->tag;
    if (keeper_send(keeper->socket, message, fds, fd_count, true))
        return true;
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
        lose(keeper);
    } else {
        log_warn("the keeper (pid %d) cannot be told: %s", keeper->pid, strerror(errno));
        if (errno == EAGAIN)
            keeper->not_before_us = loop_now_us() + PAUSE_MS * 1000L;
    }
    return false;
}

/* Asks and waits for the answer, which is put in the question's place. `fds` as for
 * keeper_receive(). Answers to earlier questions that had run out of time are dropped. */
static bool ask(struct keeper *keeper, struct keeper_message *message, int *fds, size_t *fd_count)
{
    uint32_t tag = message->tag;
    for (;;) {
        enum keeper_got got = keeper_receive(keeper->socket, message, fds, fd_count, true);
        if (got == KEEPER_GOT && message->tag == tag)
            return true;
        while (*fd_count)
            close(fds[--*fd_count]);
        if (got == KEEPER_GOT)
            continue;
        if (got == KEEPER_GONE) {
            lose(keeper);
        } else {
            log_warn("the keeper (pid %d) did not answer within %d ms", keeper->pid, CALL_MS);
            keeper->not_before_us = loop_now_us() + PAUSE_MS * 1000L;
        }
        return false;
    }
}

/* --- hello --- */

static int refuse(struct err *err, int pid)
{
    err_set(err, ERR_FAILED, "a relay runs already, pid %d: use --upgrade to replace it", pid);
    return -1;
}

static int refuse_versions(struct err *err, const struct keeper_message *answer)
{
    err_set(err, ERR_FAILED, "the keeper (pid %d) is of another version of raydbg", answer->pid);
    err_why(err, "it holds %u tasks and speaks protocol %u, this raydbg speaks %d", answer->count,
            answer->version, KEEPER_PROTOCOL);
    return err_hint(err,
                    "start the relay of the version that started it; or let the tasks go: "
                    "kill %d",
                    answer->pid);
}

/* The relay `pid` is told to end; then *message is what the keeper says when it has left. */
static int replace(int socket, struct keeper_message *message, int *fds, size_t *fd_count,
                   struct err *err)
{
    int pid = message->pid;
    if (pid <= 0 || pid == getpid())
        return refuse(err, pid);
    int64_t end_us = loop_now_us() + KEEPER_WAIT_MS * 1000L;
    int process = pidfd_open(pid, 0);
    if (kill(pid, SIGTERM) != 0 && errno != ESRCH) {
        err_set(err, ERR_FAILED, "the relay (pid %d) cannot be told to end", pid);
        err_why(err, "%s", strerror(errno));
        if (process >= 0)
            close(process);
        return -1;
    }
    set_limit(socket, KEEPER_WAIT_MS + CALL_MS);
    bool left = keeper_receive(socket, message, fds, fd_count, true) == KEEPER_GOT;
    if (process >= 0) {
        /* Its port is free when it has ended, not before. */
        int64_t rest_ms = (end_us - loop_now_us()) / 1000;
        struct pollfd ended = {.fd = process, .events = POLLIN};
        if (left && poll(&ended, 1, rest_ms > 0 ? (int)rest_ms : 0) == 0)
            log_warn("the relay (pid %d) has left its tasks but does not end", pid);
        close(process);
    }
    if (left)
        return 0;
    err_set(err, ERR_FAILED, "the relay (pid %d) did not end within %d s", pid,
            KEEPER_WAIT_MS / 1000);
    return err_hint(err, "kill -9 %d: its tasks stay held, then start this one again", pid);
}

enum hello { HELLO_WELCOME, HELLO_AGAIN, HELLO_REFUSED };

/* One try; `welcome` and its memfd are what came of it. */
static enum hello say_hello(int socket, int64_t orphan_ms, bool upgrade,
                            struct keeper_message *welcome, int *memory, struct err *err)
{
    int fds[KEEPER_BATCH];
    size_t fd_count = 0;
    *welcome = (struct keeper_message){.kind = KEEPER_HELLO, .ms = orphan_ms, .flag = upgrade};
    set_limit(socket, HELLO_MS);
    enum keeper_got got = KEEPER_GONE;
    if (keeper_send(socket, welcome, NULL, 0, true))
        got = keeper_receive(socket, welcome, fds, &fd_count, true);
    if (got != KEEPER_GOT) {
        err_set(err, ERR_FAILED, "the keeper does not answer");
        return got == KEEPER_GONE ? HELLO_AGAIN : HELLO_REFUSED;
    }
    if (welcome->kind == KEEPER_WAIT && replace(socket, welcome, fds, &fd_count, err) != 0)
        return HELLO_REFUSED;
    if (welcome->kind == KEEPER_WELCOME && fd_count == 1) {
        *memory = fds[0];
        return HELLO_WELCOME;
    }
    while (fd_count)
        close(fds[--fd_count]);
    if (welcome->kind == KEEPER_REFUSED) {
        refuse(err, welcome->pid);
        return HELLO_AGAIN;
    }
    if (welcome->kind == KEEPER_VERSIONS)
        refuse_versions(err, welcome);
    else
        err_set(err, ERR_FAILED, "the keeper gives nonsense");
    return HELLO_REFUSED;
}

/* A keeper that ends just now, or serves a relay that dies just now, is asked again. */
static int get_in(struct keeper *keeper, const char *path, int64_t orphan_ms, bool upgrade,
                  struct err *err)
{
    int64_t end_us = loop_now_us() + DYING_MS * 1000L;
    for (;;) {
        keeper->socket = keeper_find(path, err);
        if (keeper->socket < 0)
            return -1;
        struct keeper_message welcome;
        enum hello hello =
            say_hello(keeper->socket, orphan_ms, upgrade, &welcome, &keeper->memory, err);
        if (hello == HELLO_WELCOME) {
            keeper->pid = welcome.pid;
            set_limit(keeper->socket, CALL_MS);
            return 0;
        }
        close(keeper->socket);
        keeper->socket = -1;
        if (hello == HELLO_REFUSED || loop_now_us() > end_us)
            return -1;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

/* --- slots --- */

static struct slot *slot_at(struct keeper *keeper, uint32_t n)
{
    if (n >= keeper->count) {
        uint32_t count = keeper->count ? keeper->count : 64;
        while (count <= n)
            count *= 2;
        keeper->slots = mem_resize(keeper->slots, count, sizeof *keeper->slots);
        for (uint32_t i = keeper->count; i < count; i++)
            keeper->slots[i] = (struct slot){.fd = -1};
        keeper->count = count;
    }
    return &keeper->slots[n];
}

static uint32_t free_slot(const struct keeper *keeper)
{
    uint32_t n = 0;
    while (n < keeper->count && keeper->slots[n].state != SLOT_FREE)
        n++;
    return n;
}

static struct kept *kept_create(struct keeper *keeper, uint32_t n)
{
    struct kept *kept = mem_alloc(sizeof *kept);
    *kept = (struct kept){keeper, n};
    *slot_at(keeper, n) = (struct slot){.state = SLOT_KEPT, .kept = kept, .fd = -1};
    return kept;
}

/* Asks for everything that is held; it stays held. */
static int fetch(struct keeper *keeper, struct err *err)
{
    uint32_t next = 0;
    size_t missing = 0;
    for (;;) {
        struct keeper_message message = {.kind = KEEPER_TAKE, .slot = next};
        int fds[KEEPER_BATCH];
        size_t fd_count = 0;
        if (!say(keeper, &message, NULL, 0) || !ask(keeper, &message, fds, &fd_count) ||
            message.kind != KEEPER_GIVEN) {
            err_set(err, ERR_FAILED, "the keeper (pid %d) does not hand out what it holds",
                    keeper->pid);
            return -1;
        }
        if (!message.count)
            break;
        /* Without a free descriptor the kernel drops the last ones. */
        for (size_t i = 0; i < message.count; i++) {
            struct slot *slot = slot_at(keeper, message.slots[i]);
            *slot = (struct slot){.state = SLOT_FOUND, .fd = i < fd_count ? fds[i] : -1};
            missing += i >= fd_count;
        }
        next = message.slot;
    }
    if (missing)
        log_warn("%zu held connections cannot be taken over now: too many open files", missing);
    return 0;
}

static struct snapshots *open_snapshots(struct keeper *keeper, struct err *err)
{
    uint32_t *slots = mem_array(keeper->count, sizeof *slots);
    size_t count = 0;
    for (uint32_t n = 0; n < keeper->count; n++)
        if (keeper->slots[n].state == SLOT_FOUND)
            slots[count++] = n;
    struct snapshots *snapshots = snapshots_open(keeper->memory, slots, count, err);
    free(slots);
    return snapshots;
}

static void keeper_free(struct keeper **keeper)
{
    struct keeper *self = *keeper;
    *keeper = NULL;
    for (uint32_t n = 0; n < self->count; n++) {
        free(self->slots[n].kept);
        if (self->slots[n].fd >= 0)
            close(self->slots[n].fd);
    }
    free(self->slots);
    snapshots_close(&self->snapshots);
    if (self->memory >= 0)
        close(self->memory);
    if (self->socket >= 0)
        close(self->socket);
    free(self);
}

struct keeper *keeper_start(const char *path, int64_t orphan_ms, bool upgrade, struct err *err)
{
    struct keeper *keeper = mem_alloc(sizeof *keeper);
    keeper->socket = keeper->memory = -1;
    keeper_raise_fd_limit();
    if (get_in(keeper, path, orphan_ms, upgrade, err) != 0 || fetch(keeper, err) != 0 ||
        !(keeper->snapshots = open_snapshots(keeper, err)))
        keeper_free(&keeper);
    return keeper;
}

void keeper_take_over(struct keeper *keeper, keeper_found_fn fn, void *arg)
{
    struct buf snapshot = {0};
    for (uint32_t n = 0; n < keeper->count; n++) {
        struct slot *slot = &keeper->slots[n];
        if (slot->state != SLOT_FOUND || slot->fd < 0)
            continue;
        int fd = slot->fd;
        struct kept *kept = kept_create(keeper, n);
        buf_clear(&snapshot, SIZE_MAX);
        buf_add(&snapshot, "", 0);
        snapshots_read(keeper->snapshots, n, &snapshot);
        fn(arg, kept, fd, snapshot.data, snapshot.len);
    }
    buf_free(&snapshot);
}

/* --- putting and dropping --- */

/* Tells again what could not be told. */
static void drop_again(struct keeper *keeper)
{
    for (uint32_t n = 0; n < keeper->count && keeper->dropping; n++) {
        if (keeper->slots[n].state != SLOT_DROPPING)
            continue;
        struct keeper_message message = {.kind = KEEPER_DROP, .slot = n};
        if (!say(keeper, &message, NULL, 0))
            return;
        keeper->slots[n].state = SLOT_FREE;
        keeper->dropping--;
    }
}

static void drop(struct keeper *keeper, uint32_t n)
{
    keeper->slots[n].state = SLOT_DROPPING;
    keeper->dropping++;
    if (is_ready(keeper))
        drop_again(keeper);
}

struct kept *keeper_put(struct keeper *keeper, int fd)
{
    if (!is_ready(keeper))
        return NULL;
    drop_again(keeper);
    uint32_t n = free_slot(keeper);
    if (n >= SNAPSHOT_SLOTS) {
        log_warn("the keeper holds %d connections: no more", SNAPSHOT_SLOTS);
        return NULL;
    }
    snapshots_clear(keeper->snapshots, n);
    struct keeper_message message = {.kind = KEEPER_PUT, .slot = n};
    int fds[KEEPER_BATCH];
    size_t fd_count;
    if (!is_ready(keeper) || !say(keeper, &message, &fd, 1))
        return NULL;
    slot_at(keeper, n);
    if (!ask(keeper, &message, fds, &fd_count)) {
        drop(keeper, n); /* it may yet be kept */
        return NULL;
    }
    if (message.kind != KEEPER_DONE) {
        log_warn("the keeper (pid %d) cannot hold one more connection: too many open files",
                 keeper->pid);
        return NULL;
    }
    return kept_create(keeper, n);
}

void kept_snapshot(struct kept *kept, const char *bytes, size_t len)
{
    if (kept && !snapshots_write(kept->keeper->snapshots, kept->slot, bytes, len))
        log_warn("no memory for a snapshot of %zu bytes: an older one stays", len);
}

void kept_drop(struct kept **kept)
{
    struct kept *self = *kept;
    if (!self)
        return;
    *kept = NULL;
    struct keeper *keeper = self->keeper;
    keeper->slots[self->slot].kept = NULL;
    drop(keeper, self->slot); /* first: a snapshot must not go before its connection */
    snapshots_clear(keeper->snapshots, self->slot);
    free(self);
}

size_t keeper_leave(struct keeper **keeper)
{
    if (!*keeper)
        return 0;
    size_t held = 0;
    if ((*keeper)->socket >= 0) {
        (*keeper)->not_before_us = 0;
        drop_again(*keeper);
    }
    if ((*keeper)->socket >= 0) {
        struct keeper_message message = {.kind = KEEPER_LEAVE};
        int fds[KEEPER_BATCH];
        size_t fd_count;
        if (say(*keeper, &message, NULL, 0) && ask(*keeper, &message, fds, &fd_count))
            held = message.count;
    }
    keeper_free(keeper);
    return held;
}

int keeper_pid(const struct keeper *keeper)
{
    return keeper ? keeper->pid : 0;
}

bool keeper_lives(const struct keeper *keeper)
{
    char byte;
    return keeper->socket >= 0 && recv(keeper->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}
