#include "relay/debuggee/closer_process.h"

#include "relay/debuggee/pdb_install.h"
#include "relay/inject/inject.h"
#include "relay/io/daemon.h"
#include "relay/io/daemon_clock.h"
#include "relay/io/fd_packet.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* After <netinet/in.h>. glibc's own <netinet/tcp.h> lacks the count of bytes received. */
#include <linux/tcp.h>

enum {
    SETTLE_MS = 200,   /* after this silence the adapter has said what it had to say */
    GREETED_MS = 5000, /* the same, if its greeting may not be out: the thread that greets may wait
                        * that long for a CPU */
    GREETING_MS = 60000, /* after this the adapter is deaf, or too slow to wait for */
    PATIENCE_MS = 500,   /* for answers that are not read, before they are given up */
    OWED_MS = 60000,     /* after this silence no answer is expected */
    GOODBYE_MS = 60000,  /* after this silence no answer to the goodbye is expected */
    TALK_MS = 10000,     /* an adapter that never falls silent passes on what the task prints */
    IDLE_MS = 100,       /* interval between checks while connections are being closed */
};

#define GOODBYE_SEQ "2147483647"

/* debugpy writes these bytes in no string, because it escapes quotes there: so they can be counted
 * without parsing. */
static const char response[] = "\"type\": \"response\"";
static const char initialized[] = "\"event\": \"initialized\"";
/* The last of a greeting, and the last of debugpy 1.8.0's (docs/facts/debugpy.md#a). */
static const char sockets[] = "\"event\": \"debugpySockets\"";
static const char debugpy_1_8_0[] =
    "\"output\": \"debugpy\", \"data\": {\"packageVersion\": \"1.8.0\"}";
static const char farewell[] = "\"request_seq\": " GOODBYE_SEQ;

/* A connection that is being closed. */
struct closing {
    int fd;
    uint32_t owed;
    bool pdb;      /* not an adapter yet */
    bool greeted;  /* the greeting has come */
    bool torn;     /* a message has left only in part: nothing more can be sent */
    bool given_up; /* the worker was told to give up what it evaluates */
    bool goodbye;  /* has been sent */
    bool answered; /* the goodbye was */
    /* Bytes matched so far. */
    uint8_t of_response, of_initialized, of_sockets, of_1_8_0, of_farewell;
    int64_t since; /* when closing began, or the goodbye was sent */
    int64_t heard; /* when bytes last came; 0: never */
};

static struct {
    const volatile uint32_t *states;
    int *guarded; /* by slot; 0: none */
    struct closing *closings;
    struct pollfd *polls;
    uint32_t top; /* slots from here on are unused */
    uint32_t count;
    bool alone; /* the guarded process is done, or dead */
} it;

/* --- connections being closed --- */

/* When the guarded process received bytes; 0: never. */
static int64_t last_heard(int fd, int64_t now)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return INT64_MIN / 2; /* long ago */
    if (size > offsetof(struct tcp_info, tcpi_bytes_received) && info.tcpi_bytes_received == 0)
        return 0;
    return now - info.tcpi_last_data_recv;
}

static void take(uint32_t slot, uint32_t state)
{
    int64_t now = daemon_now_ms();
    int fd = it.guarded[slot];
    it.guarded[slot] = 0;
    if (!fd)
        return;
    if (it.count == CLOSER_SLOTS) {
        close(fd);
        return;
    }
    it.closings[it.count++] = (struct closing){
        .fd = fd,
        .owed = state & CLOSER_OWED,
        .pdb = state & CLOSER_IS_PDB,
        .greeted = state & CLOSER_GREETED,
        .torn = state & CLOSER_TORN,
        .since = now,
        .heard = last_heard(fd, now),
    };
}

/* True if `byte` completes `text`. After a mismatch only the first byte of `text` begins it anew:
 * JSON has no `"type": "type": "response"`. */
static bool matches(uint8_t *at, const char *text, char byte)
{
    if (byte != text[*at])
        *at = 0;
    if (byte == text[*at])
        ++*at;
    if (text[*at])
        return false;
    *at = 0;
    return true;
}

/* False at the end of the connection. */
static bool listen_to(struct closing *closing)
{
    static char bytes[65536];
    ssize_t len;
    while ((len = recv(closing->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
        closing->heard = daemon_now_ms();
        for (ssize_t i = 0; i < len; i++) {
            bool settles = matches(&closing->of_response, response, bytes[i]);
            /* `attach` is answered after configurationDone, so never. */
            settles |= matches(&closing->of_initialized, initialized, bytes[i]);
            closing->owed -= settles && closing->owed ? 1 : 0;
            closing->greeted |= matches(&closing->of_sockets, sockets, bytes[i]);
            closing->greeted |= matches(&closing->of_1_8_0, debugpy_1_8_0, bytes[i]);
            /* The answer to what was asked before may come after the goodbye. */
            closing->answered |= matches(&closing->of_farewell, farewell, bytes[i]);
        }
    }
    return len < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool say(const struct closing *closing, const char *body)
{
    char message[256];
    int len =
        snprintf(message, sizeof message, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    return send(closing->fd, message, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) == len;
}

static bool say_goodbye(const struct closing *closing)
{
    return say(closing, "{\"seq\":" GOODBYE_SEQ ",\"type\":\"request\",\"command\":\"disconnect\","
                        "\"arguments\":{\"restart\":false,\"terminateDebuggee\":false}}");
}

/* No reply is read, and an expression that never ends would hold the task. */
static void give_up(struct closing *closing, int64_t now)
{
    if (closing->given_up || closing->torn || now - closing->since < PATIENCE_MS)
        return;
    closing->given_up = true;
    if (say(closing, "{\"seq\":2147483646,\"type\":\"request\",\"command\":\"evaluate\","
                     "\"arguments\":{\"context\":\"repl\",\"expression\":\"" INJECT_GIVE_UP "\"}}"))
        closing->owed++;
}

/* How long nothing has come, since closing began or the goodbye was sent. */
static int64_t quiet_ms(const struct closing *closing, int64_t now)
{
    return now - (closing->heard > closing->since ? closing->heard : closing->since);
}

/* A pdb that has the whole statement becomes an adapter, which lets the task go on at the end of
 * the stream; one that does not have it is told to continue. Either of them then closes. An end of
 * the stream without the goodbye, or a close while pdb still has something to say, would be an
 * error in the task. */
static bool advance_pdb(struct closing *closing, int64_t now)
{
    static const char goodbye[] = PDB_INSTALL_BREAK PDB_INSTALL_GOODBYE;
    ssize_t len = sizeof goodbye - 1;
    if (!closing->goodbye) {
        /* send() fails until the socket is connected. */
        if (send(closing->fd, goodbye, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) == len)
            closing->goodbye = shutdown(closing->fd, SHUT_WR) == 0;
    }
    return quiet_ms(closing, now) >= GREETING_MS;
}

/* debugpy 1.8.0's adapter does not close by itself. While it still passes on what the task has
 * printed, an end of the connection would be the end of the adapter, too: it reports the next
 * client to this one before it accepts any other. */
static bool is_done(const struct closing *closing, int64_t now)
{
    return quiet_ms(closing, now) >= (closing->answered ? SETTLE_MS : GOODBYE_MS);
}

/* True if the connection can be closed. */
static bool advance(struct closing *closing, int64_t now)
{
    if (closing->pdb)
        return advance_pdb(closing, now);
    int64_t silent = now - closing->heard;
    if (closing->goodbye)
        return is_done(closing, now);
    if (!closing->heard)
        return now - closing->since >= GREETING_MS;
    if (closing->owed)
        give_up(closing, now);
    if (closing->owed && silent < OWED_MS)
        return false;
    if (silent < (closing->greeted ? SETTLE_MS : GREETED_MS) && now - closing->since < TALK_MS)
        return false;
    if (closing->torn || closing->owed || !say_goodbye(closing))
        return true;
    closing->goodbye = true;
    closing->since = now;
    return false;
}

static void look_at_closings(void)
{
    int64_t now = daemon_now_ms();
    for (uint32_t i = 0; i < it.count;) {
        struct closing *closing = &it.closings[i];
        if (listen_to(closing) && !advance(closing, now)) {
            i++;
            continue;
        }
        close(closing->fd);
        *closing = it.closings[--it.count];
    }
}

/* --- guarded connections --- */

static void guard(uint32_t slot, int fd)
{
    if (it.guarded[slot])
        close(it.guarded[slot]);
    it.guarded[slot] = fd;
    if (it.top <= slot)
        it.top = slot + 1;
}

static void obey(const struct closer_message *message, int fd)
{
    if (message->slot >= CLOSER_SLOTS || (message->kind == CLOSER_GUARD) != (fd >= 0)) {
        if (fd >= 0)
            close(fd);
    } else if (message->kind == CLOSER_GUARD) {
        guard(message->slot, fd);
    } else if (message->kind == CLOSER_CLOSE) {
        take(message->slot, message->state);
    } else if (it.guarded[message->slot]) {
        close(it.guarded[message->slot]);
        it.guarded[message->slot] = 0;
    }
}

static void be_alone(void)
{
    it.alone = true;
    for (uint32_t slot = 0; slot < it.top; slot++)
        take(slot, it.states[slot]);
}

/* Handles one packet; false if there is none. */
static bool hear(void)
{
    struct closer_message message;
    int fds[FD_PACKET_FDS];
    size_t fd_count;
    ssize_t len =
        fd_packet_receive(DAEMON_SOCKET_FD, &message, sizeof message, fds, &fd_count, false);
    if (len < 0)
        return false;
    while (fd_count > 1)
        close(fds[--fd_count]);
    if (len == 0)
        be_alone();
    else if (len == (ssize_t)sizeof message)
        obey(&message, fd_count ? fds[0] : -1);
    return len > 0;
}

/* --- */

static void run(const char *path)
{
    (void)path;
    it.guarded = daemon_zeroes(CLOSER_SLOTS * sizeof *it.guarded);
    it.closings = daemon_zeroes(CLOSER_SLOTS * sizeof *it.closings);
    it.polls = daemon_zeroes((CLOSER_SLOTS + 1) * sizeof *it.polls);
    while (!it.alone || it.count) {
        it.polls[0] = (struct pollfd){.fd = it.alone ? -1 : DAEMON_SOCKET_FD, .events = POLLIN};
        for (uint32_t i = 0; i < it.count; i++)
            it.polls[i + 1] = (struct pollfd){.fd = it.closings[i].fd, .events = POLLIN};
        daemon_wait(it.polls, it.count + 1, it.count ? IDLE_MS : -1, NULL);
        while (!it.alone && hear())
            ;
        look_at_closings();
    }
}

int closer_process_start(int socket, const volatile uint32_t *states)
{
    it.states = states;
    return daemon_start("raydbg-closer", socket, socket, "/", run);
}
