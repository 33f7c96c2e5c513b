#include "proto/rpc.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/rpc_channels.h"
#include "proto/rpc_error.h"
#include "proto/rpc_state.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MAX_REPLY = 256 << 20 };

/* One call, from rpc_call() until its callback has run. The loop's thread uses it before it is
 * started and after it was taken from the mailbox, grpc in between. */
struct call {
    struct rpc_event event; /* the first member */
    struct call *next;      /* among the waiting bulk calls */
    struct call *flight_next, **flight_link;
    struct rpc_channel *channel; /* NULL: refused, `refusal` says why */
    struct rpc_epoch sent;
    struct err refusal;
    grpc_call *call;
    grpc_byte_buffer *request, *reply;
    grpc_metadata_array initial, trailing;
    grpc_status_code status;
    grpc_slice details;
    char *method;
    int64_t deadline_ms;
    bool bulk;
    rpc_reply_fn fn;
    void *arg;
};

static void finish(struct rpc *rpc, struct call *call);

static void run_call(struct rpc *rpc, struct rpc_event *event)
{
    finish(rpc, (struct call *)event);
}

/* --- start and end --- */

static void *drain_queue(void *arg)
{
    struct rpc *rpc = arg;
    for (;;) {
        grpc_event event =
            grpc_completion_queue_next(rpc->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN)
            return NULL;
        if (event.type == GRPC_OP_COMPLETE)
            rpc_mailbox_put(rpc->mailbox, event.tag);
    }
}

/* After a failed assertion, which is the only word of it, grpc calls abort(). */
static void log_from_grpc(gpr_log_func_args *args)
{
    bool dies = text_starts(args->message, "assertion failed");
    log_line(dies ? LOG_LEVEL_ERROR : LOG_LEVEL_DEBUG, "grpc: %s (%s:%d)", args->message,
             args->file, args->line);
}

/* Blocks all signals in our thread and in grpc's, so that only the main thread gets them. */
static void start_threads(struct rpc *rpc)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    grpc_init();
    rpc->queue = grpc_completion_queue_create_for_next(NULL);
    int failed = pthread_create(&rpc->thread, NULL, drain_queue, rpc);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        log_error("no thread for gRPC: %s", strerror(failed));
        abort();
    }
}

struct rpc *rpc_create(const struct rpc_options *options)
{
    struct rpc *rpc = mem_alloc(sizeof *rpc);
    rpc->options = *options;
    if (!rpc->options.max_reply)
        rpc->options.max_reply = DEFAULT_MAX_REPLY;
    if (rpc->options.max_reply > INT_MAX)
        rpc->options.max_reply = INT_MAX;
    rpc->waiting_last = &rpc->waiting;
    rpc->mailbox = rpc_mailbox_create(rpc, options->post, options->post_context);
    gpr_set_log_function(log_from_grpc);
    /* Unlike c-ares, getaddrinfo() uses /etc/hosts and nsswitch, as the user's other programs. */
    setenv("GRPC_DNS_RESOLVER", "native", 0);
    rpc->channels.rpc = rpc;
    rpc->channels.options = &rpc->options;
    start_threads(rpc);
    return rpc;
}

/* Makes a channel that never connects and is kept until the process ends. Without any channel grpc
 * ends its threads, which sleeps for some 3 ms, a third of a short command. With this one grpc does
 * not wait at exit (measured with grpc 1.51). */
static void keep_grpc(void)
{
    static grpc_channel *anchor;
    if (anchor)
        return;
    grpc_channel_credentials *none = grpc_insecure_credentials_create();
    anchor = grpc_channel_create("ipv4:127.0.0.1:1", none, NULL);
    grpc_channel_credentials_release(none);
}

static void refuse_waiting(struct rpc *rpc);

void rpc_destroy(struct rpc **rpc)
{
    struct rpc *it = *rpc;
    if (!it)
        return;
    *rpc = NULL;
    it->closing = true;
    refuse_waiting(it);
    for (struct call *call = it->in_flight; call; call = call->flight_next)
        grpc_call_cancel(call->call, NULL);
    rpc_stream_cancel_all(it);
    grpc_completion_queue_shutdown(it->queue);
    pthread_join(it->thread, NULL);
    rpc_mailbox_drain(it->mailbox);
    keep_grpc();
    rpc_channels_clear(&it->channels);
    grpc_completion_queue_destroy(it->queue);
    grpc_shutdown();
    rpc_mailbox_close(&it->mailbox);
    free(it);
}

struct rpc_channel *rpc_channel(struct rpc *rpc, const char *host_port)
{
    return rpc_channels_get(&rpc->channels, host_port);
}

/* --- calls --- */

static struct call *call_new(rpc_reply_fn fn, void *arg)
{
    struct call *call = mem_alloc(sizeof *call);
    call->event.run = run_call;
    call->fn = fn;
    call->arg = arg;
    call->details = grpc_empty_slice();
    grpc_metadata_array_init(&call->initial);
    grpc_metadata_array_init(&call->trailing);
    return call;
}

bool rpc_token_header(const struct rpc *rpc, grpc_metadata *header)
{
    const struct credentials *credentials = rpc->options.credentials;
    char *bearer =
        credentials && credentials->token ? mem_format("Bearer %s", credentials->token) : NULL;
    *header = (grpc_metadata){0};
    if (!bearer)
        return false;
    header->key = grpc_slice_from_static_string("authorization");
    header->value = grpc_slice_from_copied_string(bearer);
    explicit_bzero(bearer, strlen(bearer));
    free(bearer);
    return true;
}

/* grpc copies its arguments before grpc_call_start_batch() returns, except the fields of `call`. */
static grpc_call_error call_start(struct call *call)
{
    grpc_metadata header;
    bool token = rpc_token_header(call->channel->all->rpc, &header);
    grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA,
         .data.send_initial_metadata = {.count = token ? 1 : 0, .metadata = &header}},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = call->request},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA,
         .data.recv_initial_metadata.recv_initial_metadata = &call->initial},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->reply},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {.trailing_metadata = &call->trailing,
                                        .status = &call->status,
                                        .status_details = &call->details}},
    };
    grpc_call_error error =
        grpc_call_start_batch(call->call, ops, sizeof ops / sizeof *ops, call, NULL);
    if (token)
        grpc_slice_unref(header.value);
    return error;
}

static void flight_add(struct rpc *rpc, struct call *call)
{
    call->flight_next = rpc->in_flight;
    call->flight_link = &rpc->in_flight;
    if (call->flight_next)
        call->flight_next->flight_link = &call->flight_next;
    rpc->in_flight = call;
}

static void flight_remove(struct call *call)
{
    if (!call->flight_link)
        return;
    *call->flight_link = call->flight_next;
    if (call->flight_next)
        call->flight_next->flight_link = call->flight_link;
    call->flight_link = NULL;
}

void rpc_refuse(struct rpc *rpc, const struct err *err, rpc_reply_fn fn, void *arg)
{
    struct call *call = call_new(fn, arg);
    call->refusal = *err;
    rpc_mailbox_put(rpc->mailbox, &call->event);
}

/* Opens the channel if it is closed; true, with the reason in `err`, if no call may be made. */
bool rpc_refuses(struct rpc_channel *channel, struct err *err)
{
    *err = (struct err){0};
    if (channel->all->rpc->closing) {
        err_set(err, ERR_FAILED, "the connection to %s is being closed", channel->address);
        return true;
    }
    if (!rpc_channel_open(channel)) {
        err_set(err, ERR_USAGE, "\"%s\" is not an address", channel->address);
        err_hint(err, "give HOST:PORT, for example 10.0.0.7:6379 or [fd00::7]:6379");
        return true;
    }
    return false;
}

static struct call *call_make(struct rpc_channel *channel, const char *method,
                              const uint8_t *request, size_t len, int64_t deadline_ms,
                              rpc_reply_fn fn, void *arg)
{
    struct call *call = call_new(fn, arg);
    call->channel = channel;
    call->method = mem_string(method);
    call->deadline_ms = deadline_ms;
    grpc_slice body = grpc_slice_from_copied_buffer((const char *)request, len);
    call->request = grpc_raw_byte_buffer_create(&body, 1);
    grpc_slice_unref(body);
    return call;
}

/* Sends the call; if that fails, its callback gets the reason. */
static void call_begin(struct call *call)
{
    struct rpc_channel *channel = call->channel;
    struct rpc *rpc = channel->all->rpc;
    channel->calls++;
    rpc->bulk += call->bulk;
    if (rpc_refuses(channel, &call->refusal)) {
        rpc_mailbox_put(rpc->mailbox, &call->event);
        return;
    }
    call->sent = channel->epoch;
    grpc_slice path = grpc_slice_from_copied_string(call->method);
    gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                         gpr_time_from_millis(call->deadline_ms, GPR_TIMESPAN));
    call->call = grpc_channel_create_call(channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                          rpc->queue, path, NULL, deadline, NULL);
    grpc_slice_unref(path);
    flight_add(rpc, call);
    grpc_call_error error = call_start(call);
    if (error != GRPC_CALL_OK) { /* a mistake of ours, such as bad metadata */
        err_set(&call->refusal, ERR_FAILED, "gRPC refused a call to %s", channel->address);
        err_why(&call->refusal, "%s", grpc_call_error_to_string(error));
        rpc_mailbox_put(rpc->mailbox, &call->event);
    }
}

void rpc_call(struct rpc_channel *channel, const char *method, const uint8_t *request, size_t len,
              int64_t deadline_ms, rpc_reply_fn fn, void *arg)
{
    call_begin(call_make(channel, method, request, len, deadline_ms, fn, arg));
}

/* --- waiting bulk calls --- */

static struct call *take_waiting(struct rpc *rpc)
{
    struct call *call = rpc->waiting;
    if (call) {
        rpc->waiting = call->next;
        if (!rpc->waiting)
            rpc->waiting_last = &rpc->waiting;
    }
    return call;
}

static void begin_waiting(struct rpc *rpc)
{
    struct call *call;
    while (rpc->bulk < RPC_BULK_CALLS && (call = take_waiting(rpc)))
        call_begin(call);
}

/* For an rpc that is closing: call_begin() refuses each call. */
static void refuse_waiting(struct rpc *rpc)
{
    struct call *call;
    while ((call = take_waiting(rpc)))
        call_begin(call);
}

void rpc_bulk_call(struct rpc_channel *channel, const char *method, const uint8_t *request,
                   size_t len, int64_t deadline_ms, rpc_reply_fn fn, void *arg)
{
    struct rpc *rpc = channel->all->rpc;
    struct call *call = call_make(channel, method, request, len, deadline_ms, fn, arg);
    call->bulk = true;
    call->next = NULL;
    *rpc->waiting_last = call;
    rpc->waiting_last = &call->next;
    begin_waiting(rpc);
}

/* --- replies --- */

static void call_free(struct call *call)
{
    flight_remove(call);
    free(call->method);
    grpc_metadata_array_destroy(&call->initial);
    grpc_metadata_array_destroy(&call->trailing);
    grpc_slice_unref(call->details);
    if (call->request)
        grpc_byte_buffer_destroy(call->request);
    if (call->reply)
        grpc_byte_buffer_destroy(call->reply);
    if (call->call)
        grpc_call_unref(call->call);
    free(call);
}

void rpc_explain(struct rpc_channel *channel, grpc_status_code status, grpc_slice details,
                 int64_t deadline_ms, struct err *err)
{
    const struct rpc_options *options = &channel->all->rpc->options;
    char *text = grpc_slice_to_c_string(details);
    struct rpc_failure failure = {
        .status = (int)status,
        .details = text,
        .address = channel->address,
        .answered = channel->answered,
        .deadline_ms = deadline_ms,
        .max_reply = options->max_reply,
        .credentials = options->credentials,
    };
    rpc_error(&failure, err);
    log_debug("grpc: status %d from %s: %s", failure.status, failure.address, text);
    gpr_free(text);
}

/* Reads the reply's bytes into `slice`; false if there are none. */
static bool read_reply(struct call *call, grpc_slice *slice)
{
    grpc_byte_buffer_reader reader;
    if (!call->reply || !grpc_byte_buffer_reader_init(&reader, call->reply))
        return false;
    *slice = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    return true;
}

/* Fills `reply`, and `err` or `bytes`, which the fields of `reply` then point to. */
static void conclude(struct rpc *rpc, struct call *call, struct rpc_reply *reply, struct err *err,
                     grpc_slice *bytes)
{
    *reply = (struct rpc_reply){.status = (int)GRPC_STATUS_CANCELLED, .err = err};
    *err = call->refusal;
    if (err->code)
        return;
    reply->status = (int)call->status;
    rpc_channel_judge(call->channel, &call->sent, call->status);
    if (call->status == GRPC_STATUS_OK && read_reply(call, bytes)) {
        reply->bytes = GRPC_SLICE_START_PTR(*bytes);
        reply->len = GRPC_SLICE_LENGTH(*bytes);
        reply->err = NULL;
    } else if (rpc->closing) {
        err_set(err, ERR_FAILED, "the call to %s was cancelled", call->channel->address);
    } else {
        rpc_explain(call->channel, call->status, call->details, call->deadline_ms, err);
    }
}

/* Runs on the loop's thread. The callback may destroy the rpc, which is not touched afterwards. */
static void finish(struct rpc *rpc, struct call *call)
{
    struct rpc_reply reply;
    struct err err;
    grpc_slice bytes = grpc_empty_slice();
    conclude(rpc, call, &reply, &err, &bytes);
    rpc_reply_fn fn = call->fn;
    void *arg = call->arg;
    if (call->channel)
        call->channel->calls--;
    rpc->bulk -= call->bulk;
    call_free(call);
    rpc_channels_trim(&rpc->channels);
    begin_waiting(rpc);
    fn(arg, &reply);
    grpc_slice_unref(bytes);
}
