#include "relay/debuggee/closer.h"

#include "base/log.h"
#include "relay/debuggee/closer_process.h"
#include "relay/io/fd_packet.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SLOTS = CLOSER_SLOTS };

static struct {
    int socket;
    volatile uint32_t *states; /* NULL: not started */
    bool used[SLOTS];
    int next; /* no slot below is free */
} closer;

void closer_start(void)
{
    int pair[2];
    size_t size = SLOTS * sizeof *closer.states;
    if (closer.states)
        return;
    void *states = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (states == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        log_warn("debuggers cannot be guarded: %s", strerror(errno));
        return;
    }
    if (closer_process_start(pair[1], states) != 0) {
        log_warn("debuggers cannot be guarded: %s", strerror(errno));
        close(pair[0]);
        munmap(states, size);
    } else {
        closer.socket = pair[0];
        closer.states = states;
    }
    close(pair[1]);
}

void closer_stop(void)
{
    if (!closer.states)
        return;
    close(closer.socket);
    munmap((void *)(uintptr_t)closer.states, SLOTS * sizeof *closer.states);
    memset(&closer, 0, sizeof closer);
}

/* `fd` -1: sends no descriptor. */
static bool tell(enum closer_kind kind, int slot, int fd)
{
    struct closer_message message = {
        .kind = kind, .slot = (uint32_t)slot, .state = closer.states[slot]};
    return fd_packet_send(closer.socket, &message, sizeof message, &fd, fd >= 0, true);
}

int closer_guard(int fd, enum closer_peer peer)
{
    if (!closer.states)
        return -1;
    int slot = closer.next;
    while (slot < SLOTS && closer.used[slot])
        slot++;
    if (slot == SLOTS)
        return -1;
    closer.states[slot] = peer == CLOSER_PDB ? CLOSER_IS_PDB : 0;
    if (!tell(CLOSER_GUARD, slot, fd)) {
        log_warn("a debugger cannot be guarded: %s", strerror(errno));
        return -1;
    }
    closer.used[slot] = true;
    closer.next = slot + 1;
    return slot;
}

void closer_note(int slot, size_t owed, bool torn, bool greeted)
{
    if (slot >= 0 && closer.states)
        closer.states[slot] =
            (uint32_t)owed | (torn ? CLOSER_TORN : 0U) | (greeted ? CLOSER_GREETED : 0U);
}

static void leave(int *slot, enum closer_kind kind)
{
    int it = *slot;
    *slot = -1;
    if (it < 0 || !closer.states)
        return;
    if (!tell(kind, it, -1))
        log_warn("a debugger cannot be let go: %s", strerror(errno));
    closer.used[it] = false;
    if (it < closer.next)
        closer.next = it;
}

void closer_close(int *slot)
{
    leave(slot, CLOSER_CLOSE);
}

void closer_forget(int *slot)
{
    leave(slot, CLOSER_FORGET);
}
