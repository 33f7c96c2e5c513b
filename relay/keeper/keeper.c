#include "relay/keeper/keeper.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "relay/io/loop.h"
#include "relay/keeper/keeper_snapshots.h"
#include "relay/keeper/keeper_state.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum slot_state {
    SLOT_FREE,
    SLOT_KEPT,     /* has a struct kept */
    SLOT_FOUND,    /* an earlier relay's, not yet given by keeper_take_over() */
    SLOT_DROPPING, /* KEEPER_DROP could not be sent yet */
};

struct kept {
    uint32_t magic;
    struct keeper *keeper;
    uint32_t slot;
    uint32_t tag; /* of the KEEPER_PUT whose answer is late; 0: the keeper has it */
    bool refused; /* the late answer was KEEPER_FULL */
};
INVARIANT_MAGIC(kept, 0xd94a6b35)
#define kept_checked(object) kept_checked_at(INVARIANT_HERE, object)

struct slot {
    enum slot_state state;
    struct kept *kept; /* SLOT_KEPT */
    int fd;            /* SLOT_FOUND; -1: it did not arrive */
};

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

/* Checks every move except those to SLOT_FOUND: fetch() sets that for what a found keeper holds. */
static void move_at(struct invariant_location location, struct slot *slot, enum slot_state next)
{
    static const struct invariant_state states[] = {
        [SLOT_FREE] = {"free", INVARIANT_TO(SLOT_KEPT) | INVARIANT_TO(SLOT_DROPPING)},
        [SLOT_KEPT] = {"kept", INVARIANT_TO(SLOT_DROPPING)},
        [SLOT_FOUND] = {"found", INVARIANT_TO(SLOT_KEPT)},
        [SLOT_DROPPING] = {"dropping", INVARIANT_TO(SLOT_FREE)},
    };
    invariant_move(location, "keeper's slot", states, slot->state, next);
    slot->state = next;
}
#define move(slot, next) move_at(INVARIANT_HERE, slot, next)

static struct kept *kept_create(struct keeper *keeper, uint32_t n)
{
    struct kept *kept = mem_alloc(sizeof *kept);
    *kept = (struct kept){.keeper = keeper, .slot = n};
    kept_set_magic(kept);
    struct slot *slot = slot_at(keeper, n);
    invariant(!slot->kept);
    move(slot, SLOT_KEPT);
    slot->kept = kept;
    slot->fd = -1;
    return kept;
}

/* Gets duplicates of everything that the keeper holds; the keeper goes on holding it. */
static int fetch(struct keeper *keeper, struct err *err)
{
    uint32_t next = 0;
    size_t missing = 0;
    for (;;) {
        struct keeper_message message = {.kind = KEEPER_TAKE, .slot = next};
        int fds[KEEPER_BATCH];
        size_t fd_count = 0;
        if (!keeper_say(keeper, &message, NULL, 0) ||
            !keeper_ask(keeper, &message, fds, &fd_count, KEEPER_HELLO_MS) ||
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

static struct keeper_snapshots *open_snapshots(struct keeper *keeper, struct err *err)
{
    uint32_t *slots = mem_array(keeper->count, sizeof *slots);
    size_t count = 0;
    for (uint32_t n = 0; n < keeper->count; n++)
        if (keeper->slots[n].state == SLOT_FOUND)
            slots[count++] = n;
    struct keeper_snapshots *snapshots = keeper_snapshots_open(keeper->memory, slots, count, err);
    free(slots);
    return snapshots;
}

/* Frees everything that belongs to one keeper process. */
static void forget_process(struct keeper *keeper)
{
    for (uint32_t n = 0; n < keeper->count; n++) {
        if (keeper->slots[n].kept)
            kept_clear_magic(keeper->slots[n].kept);
        free(keeper->slots[n].kept);
        if (keeper->slots[n].fd >= 0)
            close(keeper->slots[n].fd);
    }
    free(keeper->slots);
    keeper->slots = NULL;
    keeper->count = 0;
    keeper->dropping = 0;
    keeper->awaited = 0;
    keeper->jammed = keeper->missed = false;
    keeper_snapshots_close(&keeper->snapshots);
    if (keeper->memory >= 0)
        close(keeper->memory);
    if (keeper->socket >= 0)
        close(keeper->socket);
    keeper->socket = keeper->memory = -1;
}

static int find_process(struct keeper *keeper, bool upgrade, struct err *err)
{
    if (keeper_get_in(keeper, upgrade, err) == 0 && fetch(keeper, err) == 0 &&
        (keeper->snapshots = open_snapshots(keeper, err)))
        return 0;
    forget_process(keeper);
    return -1;
}

static void keeper_free(struct keeper **keeper)
{
    struct keeper *self = keeper_checked(*keeper);
    *keeper = NULL;
    forget_process(self);
    free(self->path);
    keeper_clear_magic(self);
    free(self);
}

struct keeper *keeper_start(const char *path, int64_t orphan_ms, bool upgrade, struct err *err)
{
    struct keeper *keeper = mem_alloc(sizeof *keeper);
    *keeper = (struct keeper){
        .path = mem_string(path), .orphan_ms = orphan_ms, .socket = -1, .memory = -1};
    keeper_set_magic(keeper);
    loop_raise_fd_limit();
    if (find_process(keeper, upgrade, err) != 0)
        keeper_free(&keeper);
    return keeper;
}

int keeper_renew(struct keeper *keeper, struct err *err)
{
    for (uint32_t n = 0; n < keeper_checked(keeper)->count; n++)
        invariant(!keeper->slots[n].kept);
    if (keeper->socket >= 0)
        keeper_lose(keeper);
    forget_process(keeper);
    return find_process(keeper, false, err);
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
        keeper_snapshots_read(keeper->snapshots, n, &snapshot);
        fn(arg, kept, fd, snapshot.data, snapshot.len);
    }
    buf_free(&snapshot);
}

/* --- putting and dropping --- */

/* Sends each KEEPER_DROP that could not be sent before. */
static void drop_again(struct keeper *keeper)
{
    for (uint32_t n = 0; n < keeper->count && keeper->dropping; n++) {
        if (keeper->slots[n].state != SLOT_DROPPING)
            continue;
        struct keeper_message message = {.kind = KEEPER_DROP, .slot = n};
        if (!keeper_say(keeper, &message, NULL, 0))
            return;
        move(&keeper->slots[n], SLOT_FREE);
        invariant(keeper->dropping > 0);
        keeper->dropping--;
    }
}

static void drop(struct keeper *keeper, uint32_t n)
{
    move(&keeper->slots[n], SLOT_DROPPING);
    keeper->dropping++;
    if (keeper->socket >= 0)
        drop_again(keeper);
}

static void log_full(const struct keeper *keeper)
{
    log_warn("the keeper (pid %d) cannot hold one more connection: too many open files",
             keeper->pid);
}

/* Sends the descriptor. The keeper handles what is in its socket even when this process is dead, so
 * a connection that was sent is as good as kept: a late answer can only be that it is full. */
static struct kept *put(struct keeper *keeper, uint32_t n, int fd)
{
    struct keeper_message message = {.kind = KEEPER_PUT, .slot = n};
    int fds[KEEPER_BATCH];
    size_t fd_count;
    bool slow = keeper->awaited != 0;
    if (!keeper_say(keeper, &message, &fd, 1)) {
        keeper->missed |= keeper->socket >= 0;
        return NULL;
    }
    uint32_t tag = message.tag;
    if (!slow && keeper_ask(keeper, &message, fds, &fd_count, KEEPER_CALL_MS)) {
        if (message.kind == KEEPER_DONE)
            return kept_create(keeper, n);
        log_full(keeper);
        return NULL;
    }
    if (keeper->socket < 0)
        return NULL;
    keeper->awaited = tag;
    struct kept *kept = kept_create(keeper, n);
    kept->tag = tag;
    return kept;
}

static void write_snapshot(struct keeper *keeper, uint32_t n, const char *bytes, size_t len,
                           size_t spare)
{
    if (!keeper_snapshots_write(keeper->snapshots, n, bytes, len, spare))
        log_warn("no memory for a snapshot of %zu bytes: an older one stays", len);
}

struct kept *keeper_put(struct keeper *keeper, int fd, const char *bytes, size_t len, size_t spare)
{
    if (!keeper || !keeper_hear(keeper_checked(keeper)))
        return NULL;
    uint32_t n = free_slot(keeper);
    if (n >= SNAPSHOT_SLOTS) {
        log_warn("the keeper holds %d connections: no more", SNAPSHOT_SLOTS);
        return NULL;
    }
    keeper_snapshots_clear(keeper->snapshots, n);
    if (bytes)
        write_snapshot(keeper, n, bytes, len, spare);
    struct kept *kept = put(keeper, n, fd);
    if (!kept)
        keeper_snapshots_clear(keeper->snapshots, n);
    return kept;
}

bool kept_is_refused(const struct kept *kept)
{
    return kept_checked(kept)->refused;
}

void kept_snapshot(struct kept *kept, const char *bytes, size_t len, size_t spare)
{
    if (kept)
        write_snapshot(kept_checked(kept)->keeper, kept->slot, bytes, len, spare);
}

bool kept_add(struct kept *kept, const char *bytes, size_t len)
{
    return kept &&
           keeper_snapshots_add(kept_checked(kept)->keeper->snapshots, kept->slot, bytes, len);
}

void kept_drop(struct kept **kept)
{
    struct kept *self = *kept;
    if (!self)
        return;
    *kept = NULL;
    struct keeper *keeper = keeper_checked(kept_checked(self)->keeper);
    invariant(keeper->slots[self->slot].kept == self);
    keeper->slots[self->slot].kept = NULL;
    drop(keeper, self->slot); /* first: the connection must not outlive its snapshot */
    keeper_snapshots_clear(keeper->snapshots, self->slot);
    kept_clear_magic(self);
    free(self);
}

size_t keeper_leave(struct keeper **keeper)
{
    if (!*keeper)
        return 0;
    size_t held = 0;
    (*keeper)->awaited = 0; /* wait once more: what is not dropped now stays held */
    (*keeper)->jammed = false;
    if ((*keeper)->socket >= 0)
        drop_again(*keeper);
    if ((*keeper)->socket >= 0) {
        struct keeper_message message = {.kind = KEEPER_LEAVE};
        int fds[KEEPER_BATCH];
        size_t fd_count;
        if (keeper_say(*keeper, &message, NULL, 0) &&
            keeper_ask(*keeper, &message, fds, &fd_count, KEEPER_HELLO_MS))
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
    if (keeper->socket < 0)
        return false;
    ssize_t len = recv(keeper->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR));
}

int keeper_socket(const struct keeper *keeper)
{
    return keeper->socket;
}

static void note_late_answer(struct keeper *keeper, const struct keeper_message *answer)
{
    if (answer->tag == keeper->awaited) {
        keeper->awaited = 0;
        log_info("the keeper (pid %d) answers again", keeper->pid);
    }
    for (uint32_t n = 0; n < keeper->count; n++) {
        struct kept *kept = keeper->slots[n].kept;
        if (!kept || kept->tag != answer->tag)
            continue;
        kept->tag = 0;
        kept->refused = answer->kind != KEEPER_DONE;
        keeper->missed |= kept->refused;
        if (kept->refused)
            log_full(keeper);
    }
}

bool keeper_hear(struct keeper *keeper)
{
    enum keeper_got got = keeper->socket < 0 ? KEEPER_GONE : KEEPER_GOT;
    while (got == KEEPER_GOT) {
        struct keeper_message message;
        int fds[KEEPER_BATCH];
        size_t fd_count;
        got = keeper_receive(keeper->socket, &message, fds, &fd_count, false);
        while (fd_count)
            close(fds[--fd_count]);
        if (got == KEEPER_GOT && message.tag)
            note_late_answer(keeper, &message);
    }
    if (got == KEEPER_GONE && keeper->socket >= 0)
        keeper_lose(keeper);
    else if (keeper->socket >= 0)
        drop_again(keeper);
    return keeper->socket >= 0;
}

bool keeper_take_missed(struct keeper *keeper)
{
    bool missed = keeper->missed;
    keeper->missed = false;
    return missed;
}
