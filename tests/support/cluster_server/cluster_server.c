/* Every process of a large Ray cluster in one: answers gRPC calls from a table of replies that were
 * made before, and counts what it was asked.
 *
 *   cluster_server PORTS
 *
 * prints "PORT PORT …", PORTS of them, each of which is open on all of 127.0.0.0/8 and nowhere
 * else; the first one's 127.0.0.1 is the GCS's. Then reads from standard input, until it ends:
 *
 *   R METHOD KEYLEN LEN\n KEY BYTES   the reply to METHOD's requests with that key
 * (cluster_wire.c); the one with the key "?" is for keys that have none S\n prints {"METHOD":
 * {"requests": …, …}, …} of what was asked Z\n                               counts from 0 again
 */
#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cluster_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_PORTS = 1024, WAITING_CALLS = 512, BACKLOG = 4096 };

struct reply {
    grpc_slice bytes;
    uint64_t hash;
    char *key; /* METHOD/KEY */
    size_t key_len;
};

struct counts {
    uint64_t requests, bytes_in, bytes_out;
    uint64_t scans; /* requests that the real process goes through all of its records for */
};

/* The replies, open addressing; and what was asked. Under `lock`. */
static struct {
    pthread_mutex_t lock;
    struct reply *slots;
    size_t size, count;
    struct counts *counts; /* of cluster_methods */
    uint64_t connections;
    uint64_t stranger; /* calls of methods that are not served */
} world = {.lock = PTHREAD_MUTEX_INITIALIZER};

static grpc_server *server;
static grpc_completion_queue *queue;

static void fail(const char *what)
{
    fprintf(stderr, "cluster_server: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* --- the table --- */

static struct reply *slot_of(const char *key, size_t len)
{
    uint64_t hash = hash_bytes(key, len, 0);
    size_t at = hash & (world.size - 1);
    while (world.slots[at].key && (world.slots[at].hash != hash || world.slots[at].key_len != len ||
                                   memcmp(world.slots[at].key, key, len) != 0))
        at = (at + 1) & (world.size - 1);
    return &world.slots[at];
}

static void grow(void)
{
    struct reply *old = world.slots;
    size_t old_size = world.size;
    world.size = old_size ? 2 * old_size : 1024;
    world.slots = mem_array(world.size, sizeof *world.slots);
    for (size_t i = 0; i < old_size; i++)
        if (old[i].key)
            *slot_of(old[i].key, old[i].key_len) = old[i];
    free(old);
}

/* Takes over the key. */
static void put(char *key, size_t len, grpc_slice bytes)
{
    if (2 * world.count >= world.size)
        grow();
    struct reply *slot = slot_of(key, len);
    if (slot->key) {
        grpc_slice_unref(slot->bytes);
        free(key);
    } else {
        *slot = (struct reply){.hash = hash_bytes(key, len, 0), .key = key, .key_len = len};
        world.count++;
    }
    slot->bytes = bytes;
}

/* The reply to a request, which is the caller's to unref; counts it. */
static grpc_slice answer_to(const struct cluster_method *method, const uint8_t *bytes, size_t len)
{
    struct buf key = {0};
    struct counts *counts = &world.counts[method - cluster_methods];
    buf_printf(&key, "%s/", method->name);
    size_t prefix = key.len;
    bool scans = method->key(bytes, len, &key);
    pthread_mutex_lock(&world.lock);
    struct reply *slot = slot_of(key.data, key.len);
    if (!slot->key) {
        key.len = prefix;
        buf_add_string(&key, "?");
        slot = slot_of(key.data, key.len);
    }
    grpc_slice out = slot->key ? grpc_slice_ref(slot->bytes) : grpc_empty_slice();
    counts->requests++;
    counts->bytes_in += len;
    counts->bytes_out += GRPC_SLICE_LENGTH(out);
    counts->scans += scans;
    pthread_mutex_unlock(&world.lock);
    buf_free(&key);
    return out;
}

/* --- calls --- */

struct call {
    enum { WAITS, READS, ENDS } stage;
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
    grpc_byte_buffer *request;
    int cancelled;
};

static void wait_for_call(void)
{
    struct call *call = mem_alloc(sizeof *call);
    grpc_call_details_init(&call->details);
    grpc_metadata_array_init(&call->metadata);
    grpc_server_request_call(server, &call->call, &call->details, &call->metadata, queue, queue,
                             call);
}

static void call_free(struct call *call)
{
    grpc_call_details_destroy(&call->details);
    grpc_metadata_array_destroy(&call->metadata);
    if (call->request)
        grpc_byte_buffer_destroy(call->request);
    if (call->call)
        grpc_call_unref(call->call);
    free(call);
}

static void read_request(struct call *call)
{
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->request};
    call->stage = READS;
    grpc_call_start_batch(call->call, &op, 1, call, NULL);
}

/* False if the method is not served. */
static bool find_answer(struct call *call, grpc_slice *out)
{
    const struct cluster_method *method =
        cluster_method((const char *)GRPC_SLICE_START_PTR(call->details.method),
                       GRPC_SLICE_LENGTH(call->details.method));
    grpc_byte_buffer_reader reader;
    *out = grpc_empty_slice();
    if (!method)
        return false;
    if (!call->request || !grpc_byte_buffer_reader_init(&reader, call->request)) {
        *out = answer_to(method, NULL, 0);
        return true;
    }
    grpc_slice bytes = grpc_byte_buffer_reader_readall(&reader);
    *out = answer_to(method, GRPC_SLICE_START_PTR(bytes), GRPC_SLICE_LENGTH(bytes));
    grpc_slice_unref(bytes);
    grpc_byte_buffer_reader_destroy(&reader);
    return true;
}

static void answer(struct call *call)
{
    grpc_slice bytes;
    bool served = find_answer(call, &bytes);
    grpc_byte_buffer *message = grpc_raw_byte_buffer_create(&bytes, 1);
    grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA},
        {.op = GRPC_OP_RECV_CLOSE_ON_SERVER,
         .data.recv_close_on_server.cancelled = &call->cancelled},
        {.op = GRPC_OP_SEND_STATUS_FROM_SERVER,
         .data.send_status_from_server.status =
             served ? GRPC_STATUS_OK : GRPC_STATUS_UNIMPLEMENTED},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = message},
    };
    call->stage = ENDS;
    grpc_call_start_batch(call->call, ops, served ? 4 : 3, call, NULL);
    grpc_byte_buffer_destroy(message);
    grpc_slice_unref(bytes);
    if (served)
        return;
    pthread_mutex_lock(&world.lock);
    world.stranger++;
    pthread_mutex_unlock(&world.lock);
}

static void serve(void)
{
    for (int i = 0; i < WAITING_CALLS; i++)
        wait_for_call();
    for (;;) {
        grpc_event event =
            grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        struct call *call = event.tag;
        if (event.type != GRPC_OP_COMPLETE)
            continue;
        if (call->stage == WAITS)
            wait_for_call();
        if (call->stage == ENDS || !event.success)
            call_free(call);
        else if (call->stage == WAITS)
            read_request(call);
        else
            answer(call);
    }
}

/* --- connections --- */

static struct pollfd listeners[MAX_PORTS];
static nfds_t listener_count;

/* On all of 127.0.0.0/8, and nowhere else: it is bound to the loopback device. */
static uint16_t open_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) != 0 ||
        bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        fail("cannot listen on the loopback device");
    listeners[listener_count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    return ntohs(address.sin_port);
}

static void accept_all(int listener)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        grpc_server_credentials *plain = grpc_insecure_server_credentials_create();
        grpc_server_add_channel_from_fd(server, fd, plain);
        grpc_server_credentials_release(plain);
        pthread_mutex_lock(&world.lock);
        world.connections++;
        pthread_mutex_unlock(&world.lock);
    }
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
        fail("cannot accept");
}

static void *accept_forever(void *unused)
{
    for (;;) {
        if (poll(listeners, listener_count, -1) < 0 && errno != EINTR)
            fail("poll");
        for (nfds_t i = 0; i < listener_count; i++)
            if (listeners[i].revents & POLLIN)
                accept_all(listeners[i].fd);
    }
    return unused;
}

/* --- standard input --- */

static void print_counts(void)
{
    pthread_mutex_lock(&world.lock);
    printf("{\"connections\": %" PRIu64 ", \"strangers\": %" PRIu64 ", \"methods\": {",
           world.connections, world.stranger);
    for (size_t i = 0; i < cluster_method_count; i++) {
        const struct counts *counts = &world.counts[i];
        printf("%s\"%s\": {\"requests\": %" PRIu64 ", \"bytes_in\": %" PRIu64
               ", \"bytes_out\": %" PRIu64 ", \"scans\": %" PRIu64 "}",
               i ? ", " : "", cluster_methods[i].name, counts->requests, counts->bytes_in,
               counts->bytes_out, counts->scans);
    }
    pthread_mutex_unlock(&world.lock);
    printf("}}\n");
    fflush(stdout);
}

static void forget_counts(void)
{
    pthread_mutex_lock(&world.lock);
    memset(world.counts, 0, cluster_method_count * sizeof *world.counts);
    world.connections = world.stranger = 0;
    pthread_mutex_unlock(&world.lock);
}

static void read_reply(const char *line)
{
    char method[64];
    size_t key_len, len;
    if (sscanf(line, "R %63s %zu %zu", method, &key_len, &len) != 3)
        exit(2);
    struct buf key = {0};
    buf_printf(&key, "%s/", method);
    size_t prefix = key.len;
    char *rest = mem_alloc(key_len + 1);
    grpc_slice bytes = grpc_slice_malloc(len);
    if (fread(rest, 1, key_len, stdin) != key_len ||
        fread(GRPC_SLICE_START_PTR(bytes), 1, len, stdin) != len)
        exit(2);
    buf_add(&key, rest, key_len);
    free(rest);
    pthread_mutex_lock(&world.lock);
    put(buf_take(&key), prefix + key_len, bytes);
    pthread_mutex_unlock(&world.lock);
}

static void *read_forever(void *unused)
{
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        if (*line == 'R')
            read_reply(line);
        else if (*line == 'S')
            print_counts();
        else if (*line == 'Z')
            forget_counts();
    }
    _exit(0);
    return unused;
}

static void start(void *(*run)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        fail("no thread");
    pthread_detach(thread);
}

int main(int argc, char **argv)
{
    int ports = argc > 1 ? atoi(argv[1]) : 1;
    if (ports < 1 || ports > MAX_PORTS) {
        fprintf(stderr, "usage: cluster_server PORTS\n");
        return 2;
    }
    world.counts = mem_array(cluster_method_count, sizeof *world.counts);
    grow();
    grpc_init();
    queue = grpc_completion_queue_create_for_next(NULL);
    grpc_arg arg = {.type = GRPC_ARG_INTEGER,
                    .key = GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION,
                    .value.integer = 0};
    grpc_channel_args args = {1, &arg};
    server = grpc_server_create(&args, NULL);
    grpc_server_register_completion_queue(server, queue, NULL);
    grpc_server_start(server);
    for (int i = 0; i < ports; i++)
        printf("%s%u", i ? " " : "", (unsigned)open_port());
    printf("\n");
    fflush(stdout);
    start(accept_forever);
    start(read_forever);
    serve();
}
