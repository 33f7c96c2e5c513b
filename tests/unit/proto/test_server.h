/* A gRPC server on a loopback port, on grpc core: one call at a time, each answered by a function.
 */
#ifndef RAYDBG_TESTS_TEST_SERVER_H
#define RAYDBG_TESTS_TEST_SERVER_H

#include "base/buf.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct test_call {
    char *method;
    char *authorization; /* NULL if there was none */
    struct buf request;
    struct buf reply;    /* to be filled in */
    const char *details; /* of a failure; a constant */
};

/* Returns grpc's status. Runs on the server's thread. */
typedef grpc_status_code (*test_server_fn)(struct test_call *call);

struct test_server {
    grpc_server *server;
    grpc_completion_queue *queue;
    test_server_fn fn;
    pthread_t thread;
    char address[32];
};

static inline bool test_server_batch(struct test_server *server, grpc_call *call,
                                     const grpc_op *ops, size_t count)
{
    gpr_timespec forever = gpr_inf_future(GPR_CLOCK_MONOTONIC);
    if (grpc_call_start_batch(call, ops, count, server, NULL) != GRPC_CALL_OK)
        return false;
    return grpc_completion_queue_next(server->queue, forever, NULL).type == GRPC_OP_COMPLETE;
}

static inline void test_server_read(grpc_byte_buffer *message, struct buf *out)
{
    grpc_byte_buffer_reader reader;
    if (!message || !grpc_byte_buffer_reader_init(&reader, message))
        return;
    grpc_slice bytes = grpc_byte_buffer_reader_readall(&reader);
    buf_add(out, GRPC_SLICE_START_PTR(bytes), GRPC_SLICE_LENGTH(bytes));
    grpc_slice_unref(bytes);
    grpc_byte_buffer_reader_destroy(&reader);
    grpc_byte_buffer_destroy(message);
}

static inline void test_server_answer(struct test_server *server, grpc_call *call,
                                      struct test_call *answer)
{
    int cancelled;
    grpc_byte_buffer *message = NULL;
    grpc_op ops[4] = {{.op = GRPC_OP_RECV_MESSAGE}};
    ops[0].data.recv_message.recv_message = &message;
    test_server_batch(server, call, ops, 1);
    test_server_read(message, &answer->request);
    grpc_status_code status = server->fn(answer);
    grpc_slice details = grpc_slice_from_static_string(answer->details ? answer->details : "");
    grpc_slice body = grpc_slice_from_copied_buffer(answer->reply.data, answer->reply.len);
    grpc_byte_buffer *reply = grpc_raw_byte_buffer_create(&body, 1);
    ops[0] = (grpc_op){.op = GRPC_OP_SEND_INITIAL_METADATA};
    ops[1] = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER};
    ops[1].data.send_status_from_server.status = status;
    ops[1].data.send_status_from_server.status_details = &details;
    ops[2] = (grpc_op){.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    ops[2].data.recv_close_on_server.cancelled = &cancelled;
    ops[3] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE};
    ops[3].data.send_message.send_message = reply;
    test_server_batch(server, call, ops, status == GRPC_STATUS_OK ? 4 : 3);
    grpc_byte_buffer_destroy(reply);
    grpc_slice_unref(body);
}

static inline char *test_server_header(const grpc_metadata_array *headers, const char *name)
{
    for (size_t i = 0; i < headers->count; i++)
        if (grpc_slice_str_cmp(headers->metadata[i].key, name) == 0)
            return grpc_slice_to_c_string(headers->metadata[i].value);
    return NULL;
}

static inline void *test_server_run(void *arg)
{
    struct test_server *server = arg;
    for (;;) {
        grpc_call *call = NULL;
        grpc_call_details details;
        grpc_metadata_array headers;
        grpc_call_details_init(&details);
        grpc_metadata_array_init(&headers);
        grpc_server_request_call(server->server, &call, &details, &headers, server->queue,
                                 server->queue, server);
        grpc_event event =
            grpc_completion_queue_next(server->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        bool got = event.type == GRPC_OP_COMPLETE && event.success;
        if (got) {
            struct test_call answer = {.method = grpc_slice_to_c_string(details.method)};
            answer.authorization = test_server_header(&headers, "authorization");
            test_server_answer(server, call, &answer);
            gpr_free(answer.method);
            gpr_free(answer.authorization);
            buf_free(&answer.request);
            buf_free(&answer.reply);
            grpc_call_unref(call);
        }
        grpc_call_details_destroy(&details);
        grpc_metadata_array_destroy(&headers);
        if (!got)
            return NULL;
    }
}

static inline void test_server_start(struct test_server *server, test_server_fn fn)
{
    grpc_init();
    server->fn = fn;
    server->queue = grpc_completion_queue_create_for_next(NULL);
    server->server = grpc_server_create(NULL, NULL);
    grpc_server_register_completion_queue(server->server, server->queue, NULL);
    grpc_server_credentials *open = grpc_insecure_server_credentials_create();
    int port = grpc_server_add_http2_port(server->server, "127.0.0.1:0", open);
    grpc_server_credentials_release(open);
    assert_true(port > 0);
    snprintf(server->address, sizeof server->address, "127.0.0.1:%d", port);
    grpc_server_start(server->server);
    assert_int_equal(pthread_create(&server->thread, NULL, test_server_run, server), 0);
}

/* After the clients are gone. */
static inline void test_server_stop(struct test_server *server)
{
    gpr_timespec forever = gpr_inf_future(GPR_CLOCK_MONOTONIC);
    grpc_completion_queue *queue = grpc_completion_queue_create_for_pluck(NULL);
    grpc_server_shutdown_and_notify(server->server, queue, queue);
    pthread_join(server->thread, NULL); /* its request for a call fails */
    grpc_completion_queue_pluck(queue, queue, forever, NULL);
    grpc_completion_queue_shutdown(queue);
    grpc_completion_queue_destroy(queue);
    grpc_server_destroy(server->server);
    grpc_completion_queue_shutdown(server->queue);
    while (grpc_completion_queue_next(server->queue, forever, NULL).type != GRPC_QUEUE_SHUTDOWN)
        continue;
    grpc_completion_queue_destroy(server->queue);
    grpc_shutdown();
}

#endif
