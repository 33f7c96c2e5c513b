/* Relays that are killed at random moments, in the middle of snapshots, puts and drops: no debuggee
 * notices, and each snapshot is whole and the last or the one that was being written. */
#include "cmocka_prelude.h"

#include "keeper_fixture.h"
#include "relay/keeper/keeper.h"
#include "relay/keeper/keeper_process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 40000, HELD_MAX = 24, ROUNDS = 240 };

enum progress { NOTHING, PUTTING, KEPT, DROPPING, DROPPED };

/* What the relay of a round says of a connection while it lives: shared memory. */
struct entry {
    _Atomic int progress;
    _Atomic uint32_t port;
    _Atomic uint64_t started;  /* the snapshot that it was about to write */
    _Atomic uint64_t finished; /* and the last that it had written */
};

struct ledger {
    struct entry entries[CONNECTIONS];
    _Atomic int count;
    _Atomic bool ready;
    _Atomic int failure; /* the line where a relay found something wrong */
};

static struct ledger *ledger;
static struct sockaddr_in debuggee;

/* In a relay: notes the line and ends. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ledger->failure = __LINE__;                                                            \
            _exit(9);                                                                              \
        }                                                                                          \
    } while (0)

struct own {
    struct kept *kept;
    int fd;
    int id;
};

struct chaos {
    struct keeper *keeper;
    struct own own[HELD_MAX * 4];
    size_t count;
};

struct snapshot_text {
    uint64_t number;
    int id;
    unsigned char pattern;
};

/* The next snapshot of a connection. */
static const char *next_snapshot(int id, size_t *len)
{
    static char bytes[300000];
    struct entry *entry = &ledger->entries[id];
    struct snapshot_text head = {entry->finished + 1, id, (unsigned char)(random() & 0xFF)};
    *len = sizeof head + (size_t)random() % (random() % 20 == 0 ? 250000 : 5000);
    memset(bytes, head.pattern, *len);
    memcpy(bytes, &head, sizeof head);
    entry->started = head.number;
    return bytes;
}

static void write_snapshot(const struct own *own)
{
    struct entry *entry = &ledger->entries[own->id];
    size_t len;
    const char *bytes = next_snapshot(own->id, &len);
    kept_snapshot(own->kept, bytes, len, 0);
    entry->finished = entry->started;
}

static void drop_own(struct chaos *chaos, size_t n)
{
    struct own *own = &chaos->own[n];
    ledger->entries[own->id].progress = DROPPING;
    kept_drop(&own->kept);
    ledger->entries[own->id].progress = DROPPED;
    close(own->fd);
    chaos->own[n] = chaos->own[--chaos->count];
}

static int id_of(int fd)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    CHECK(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    for (int id = ledger->count - 1; id >= 0; id--)
        if (ledger->entries[id].port == address.sin_port)
            return id;
    ledger->failure = __LINE__; /* a connection that nobody has made */
    _exit(9);
}

/* There, whole, and no older than what the dead relay had finished. */
static void check_snapshot(int id, const char *bytes, size_t len)
{
    const struct entry *entry = &ledger->entries[id];
    struct snapshot_text head;
    CHECK(len >= sizeof head);
    memcpy(&head, bytes, sizeof head);
    CHECK(head.id == id);
    CHECK(head.number >= entry->finished && head.number <= entry->started);
    for (size_t i = sizeof head; i < len; i++)
        CHECK((unsigned char)bytes[i] == head.pattern);
}

static void on_chaos_found(void *arg, struct kept *kept, int fd, const char *snapshot, size_t len)
{
    struct chaos *chaos = arg;
    int id = id_of(fd);
    struct entry *entry = &ledger->entries[id];
    CHECK(entry->progress == PUTTING || entry->progress == KEPT || entry->progress == DROPPING);
    check_snapshot(id, snapshot, len);
    chaos->own[chaos->count] = (struct own){kept, fd, id};
    if (entry->progress == DROPPING) {
        drop_own(chaos, chaos->count++);
        return;
    }
    chaos->count++;
    entry->finished = ((const struct snapshot_text *)(const void *)snapshot)->number;
    entry->progress = KEPT;
    char byte = '?';
    CHECK(recv(fd, &byte, 1, MSG_DONTWAIT) != 0);
    CHECK(send(fd, "r", 1, MSG_NOSIGNAL) == 1);
}

static void connect_and_put(struct chaos *chaos)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(fd, (struct sockaddr *)&debuggee, sizeof debuggee) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    int id = ledger->count;
    CHECK(id < CONNECTIONS);
    ledger->entries[id].port = address.sin_port;
    ledger->entries[id].progress = PUTTING;
    ledger->count = id + 1;
    size_t snapshot_len;
    const char *snapshot = next_snapshot(id, &snapshot_len);
    struct kept *kept = keeper_put(chaos->keeper, fd, snapshot, snapshot_len, 0);
    CHECK(kept);
    ledger->entries[id].finished = ledger->entries[id].started;
    ledger->entries[id].progress = KEPT;
    chaos->own[chaos->count++] = (struct own){kept, fd, id};
}

_Noreturn static void run_chaos(unsigned seed, bool last)
{
    static struct chaos chaos;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* with the test */
    srandom(seed);
    chaos.keeper = keeper_start(path, 60000, false, NULL);
    CHECK(chaos.keeper);
    keeper_take_over(chaos.keeper, on_chaos_found, &chaos);
    size_t kept = 0;
    for (int id = 0; id < ledger->count; id++) {
        kept += ledger->entries[id].progress == KEPT;
        if (ledger->entries[id].progress == PUTTING || ledger->entries[id].progress == DROPPING)
            ledger->entries[id].progress = DROPPED; /* it did not get there, or was dropped */
    }
    CHECK(kept == chaos.count);
    ledger->ready = true;
    while (last)
        pause();
    for (;;) {
        long what = random() % 100;
        if (chaos.count == 0 || (what < 10 && chaos.count < HELD_MAX))
            connect_and_put(&chaos);
        else if (what < 18 && chaos.count > 4)
            drop_own(&chaos, (size_t)random() % chaos.count);
        else
            write_snapshot(&chaos.own[(size_t)random() % chaos.count]);
    }
}

/* This end: every connection that is still of interest, by id; -1 for none. */
static int peer_of[CONNECTIONS];

/* The last of a port's connections are the newest. */
static void accept_all(int listener)
{
    for (;;) {
        struct sockaddr_in address;
        socklen_t len = sizeof address;
        int fd = accept4(listener, (struct sockaddr *)&address, &len, SOCK_CLOEXEC);
        if (fd < 0)
            return;
        int id = ledger->count - 1;
        while (id >= 0 && (ledger->entries[id].port != address.sin_port || peer_of[id] >= 0))
            id--;
        if (id >= 0)
            peer_of[id] = fd;
        else
            close(fd); /* killed before it had noted it */
    }
}

/* Nothing that was put, and not dropped, has seen its end. */
static void check_peers(void)
{
    for (int id = 0; id < ledger->count; id++) {
        int progress = ledger->entries[id].progress;
        if (progress == KEPT) {
            assert_true(peer_of[id] >= 0);
            char bytes[64];
            ssize_t len = recv(peer_of[id], bytes, sizeof bytes, MSG_DONTWAIT);
            assert_true(len > 0 || (len < 0 && errno == EAGAIN));
        } else if (progress == DROPPED && peer_of[id] >= 0) {
            close(peer_of[id]);
            peer_of[id] = -1;
        }
    }
}

static int listen_as_debuggee(void)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    debuggee =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof debuggee;
    assert_int_equal(bind(listener, (struct sockaddr *)&debuggee, len), 0);
    assert_int_equal(listen(listener, 4096), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&debuggee, &len), 0);
    return listener;
}

/* Lets a relay do its work, and kills it somewhere in it. */
static void kill_somewhere(unsigned seed, bool from_the_start)
{
    ledger->ready = false;
    pid_t relay = fork();
    if (relay == 0)
        run_chaos(seed, false);
    WAIT_UNTIL(from_the_start || ledger->ready || ledger->failure);
    settle_us(random() % (from_the_start ? 30000 : 6000));
    kill(relay, SIGKILL);
    int status;
    assert_int_equal(waitpid(relay, &status, 0), relay);
    if (ledger->failure)
        fail_msg("a relay failed at line %d of this file", (int)ledger->failure);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_killed_at_any_moment(void **state)
{
    (void)state;
    ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(ledger, MAP_FAILED);
    memset(peer_of, -1, sizeof peer_of);
    int listener = listen_as_debuggee();
    srandom(42);
    for (unsigned round = 0; round < ROUNDS; round++) {
        kill_somewhere(round, round % 3 == 0);
        accept_all(listener);
        check_peers();
    }
    /* The last relay takes over everything, and bytes flow through all of it. */
    ledger->ready = false;
    pid_t relay = fork();
    if (relay == 0)
        run_chaos(ROUNDS, true);
    WAIT_UNTIL(ledger->ready || ledger->failure);
    assert_int_equal(ledger->failure, 0);
    int kept = 0;
    for (int id = 0; id < ledger->count; id++) {
        if (ledger->entries[id].progress != KEPT)
            continue;
        char byte = 0;
        assert_int_equal(recv(peer_of[id], &byte, 1, MSG_DONTWAIT), 1);
        assert_int_equal(byte, 'r');
        kept++;
    }
    kill(relay, SIGKILL);
    assert_int_equal(waitpid(relay, NULL, 0), relay);
    print_message("%d kills, %d connections, %d kept at the end\n", ROUNDS, ledger->count, kept);
    assert_true(kept > 0 && ledger->count > ROUNDS);
    /* What was dropped on the way is closed, what was kept ends with its peers. */
    for (int id = 0; id < ledger->count; id++)
        if (peer_of[id] >= 0)
            close(peer_of[id]);
    close(listener);
    munmap(ledger, sizeof *ledger);
}

int main(int argc, char **argv)
{
    keeper_process_resume(argc, argv);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_killed_at_any_moment, setup, teardown),
    };
    return cmocka_run_group_tests_name("keeper_kill", tests, NULL, NULL);
}
