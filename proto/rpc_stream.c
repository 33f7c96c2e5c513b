#include "proto/rpc_stream.h"

#include "base/mem.h"
#include "proto/rpc_state.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/support/time.h>
#include <stdlib.h>
#include <string.h>

/* One batch of grpc operations that is under way. */
struct batch {
    struct rpc_event event; /* the first member */
    struct rpc_stream *stream;
};

/* Freed when all its batches have come back. Its two batches that may end at any time, the start
 * and the status, and the reading of one message are under way at once. */
struct rpc_stream {
    struct rpc_stream *next, **link; /* in the rpc's list */
    struct rpc_channel *channel;
    struct rpc_epoch sent;
    grpc_call *call;
    struct batch start, read, status_batch;
    int pending; /* batches under way */
    bool cancelled;
    struct err refusal;
    grpc_byte_buffer *request, *reply;
    grpc_metadata_array initial, trailing;
    grpc_status_code status;
    grpc_slice details;
    int64_t deadline_ms;
    char *note_key;
    const struct rpc_stream_calls *calls;
    void *arg;
};

static void stream_free(struct rpc_stream *stream)
{
    if (stream->link) {
        *stream->link = stream->next;
        if (stream->next)
            stream->next->link = stream->link;
    }
    grpc_metadata_array_destroy(&stream->initial);
    grpc_metadata_array_destroy(&stream->trailing);
    grpc_slice_unref(stream->details);
    if (stream->request)
        grpc_byte_buffer_destroy(stream->request);
    if (stream->reply)
        grpc_byte_buffer_destroy(stream->reply);
    if (stream->call)
        grpc_call_unref(stream->call);
    free(stream->note_key);
    free(stream);
}

/* --- the end --- */

static char *note_of(const struct rpc_stream *stream)
{
    for (size_t i = 0; stream->note_key && i < stream->initial.count; i++) {
        const grpc_metadata *entry = &stream->initial.metadata[i];
        if (grpc_slice_str_cmp(entry->key, stream->note_key) == 0)
            return mem_string_n((const char *)GRPC_SLICE_START_PTR(entry->value),
                                GRPC_SLICE_LENGTH(entry->value));
    }
    return mem_string("");
}

/* Called when nothing is under way any more. */
static void conclude(struct rpc *rpc, struct rpc_stream *stream)
{
    struct err err = stream->refusal;
    void (*end)(void *, const struct err *, const char *) =
        stream->cancelled ? NULL : stream->calls->end;
    void *arg = stream->arg;
    char *note = note_of(stream);
    stream->channel->calls--;
    if (stream->call)
        rpc_channel_judge(stream->channel, &stream->sent, stream->status);
    if (!err.code && stream->status != GRPC_STATUS_OK) {
        if (rpc->closing)
            err_set(&err, ERR_FAILED, "the call to %s was cancelled", stream->channel->address);
        else
            rpc_explain(stream->channel, stream->status, stream->details, stream->deadline_ms,
                        &err);
    }
    stream_free(stream);
    rpc_channels_trim(&rpc->channels);
    if (end)
        end(arg, err.code ? &err : NULL, note);
    free(note);
}

/* Counts one batch as ended; the stream may be freed. */
static void ended(struct rpc *rpc, struct rpc_stream *stream)
{
    if (--stream->pending == 0)
        conclude(rpc, stream);
}

/* --- messages --- */

static bool start_batch(struct rpc_stream *stream, struct batch *batch, const grpc_op *ops,
                        size_t count)
{
    grpc_call_error error = grpc_call_start_batch(stream->call, ops, count, &batch->event, NULL);
    if (error != GRPC_CALL_OK) {
        err_set(&stream->refusal, ERR_FAILED, "gRPC refused a call to %s",
                stream->channel->address);
        err_why(&stream->refusal, "%s", grpc_call_error_to_string(error));
        return false;
    }
    stream->pending++;
    return true;
}

static void read_next(struct rpc *rpc, struct rpc_stream *stream)
{
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &stream->reply};
    if (!rpc->closing && !stream->cancelled)
        start_batch(stream, &stream->read, &op, 1);
}

static void deliver(struct rpc_stream *stream)
{
    grpc_byte_buffer_reader reader;
    if (!grpc_byte_buffer_reader_init(&reader, stream->reply))
        return;
    grpc_slice bytes = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    if (!stream->cancelled)
        stream->calls->message(stream->arg, GRPC_SLICE_START_PTR(bytes), GRPC_SLICE_LENGTH(bytes));
    grpc_slice_unref(bytes);
}

/* `pending` still counts this batch, so that a callback that cancels leaves the stream in place. */
static void on_read(struct rpc *rpc, struct rpc_event *event)
{
    struct rpc_stream *stream = ((struct batch *)event)->stream;
    if (stream->reply) {
        deliver(stream);
        grpc_byte_buffer_destroy(stream->reply);
        stream->reply = NULL;
        read_next(rpc, stream);
    }
    ended(rpc, stream);
}

static void on_start(struct rpc *rpc, struct rpc_event *event)
{
    struct rpc_stream *stream = ((struct batch *)event)->stream;
    read_next(rpc, stream);
    ended(rpc, stream);
}

/* Also for a stream that was refused before grpc had it. */
static void on_status(struct rpc *rpc, struct rpc_event *event)
{
    ended(rpc, ((struct batch *)event)->stream);
}

/* --- start --- */

static void start_batches(struct rpc *rpc, struct rpc_stream *stream)
{
    grpc_metadata header;
    bool token = rpc_token_header(rpc, &header);
    const grpc_op status = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
                            .data.recv_status_on_client = {.trailing_metadata = &stream->trailing,
                                                           .status = &stream->status,
                                                           .status_details = &stream->details}};
    const grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA,
         .data.send_initial_metadata = {.count = token ? 1 : 0, .metadata = &header}},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = stream->request},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA,
         .data.recv_initial_metadata.recv_initial_metadata = &stream->initial},
    };
    if (start_batch(stream, &stream->status_batch, &status, 1) &&
        !start_batch(stream, &stream->start, ops, sizeof ops / sizeof *ops))
        grpc_call_cancel(stream->call, NULL);
    if (token)
        grpc_slice_unref(header.value);
}

static void begin(struct rpc_stream *stream, const char *method)
{
    struct rpc *rpc = stream->channel->all->rpc;
    gpr_timespec deadline = gpr_inf_future(GPR_CLOCK_MONOTONIC);
    if (stream->deadline_ms >= 0)
        deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                gpr_time_from_millis(stream->deadline_ms, GPR_TIMESPAN));
    if (!rpc_refuses(stream->channel, &stream->refusal)) {
        stream->sent = stream->channel->epoch;
        grpc_slice path = grpc_slice_from_copied_string(method);
        stream->call =
            grpc_channel_create_call(stream->channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                     rpc->queue, path, NULL, deadline, NULL);
        grpc_slice_unref(path);
        start_batches(rpc, stream);
    }
    if (stream->pending)
        return;
    stream->pending = 1;
    stream->start.event.run = on_status;
    rpc_mailbox_put(rpc->mailbox, &stream->start.event);
}

struct rpc_stream *rpc_stream_start(struct rpc_channel *channel, const char *method,
                                    const uint8_t *request, size_t len, int64_t deadline_ms,
                                    const char *note, const struct rpc_stream_calls *calls,
                                    void *arg)
{
    struct rpc *rpc = channel->all->rpc;
    struct rpc_stream *stream = mem_alloc(sizeof *stream);
    grpc_slice body = grpc_slice_from_copied_buffer((const char *)request, len);
    *stream = (struct rpc_stream){
        .next = rpc->streams,
        .link = &rpc->streams,
        .channel = channel,
        .start = {{NULL, on_start}, stream},
        .read = {{NULL, on_read}, stream},
        .status_batch = {{NULL, on_status}, stream},
        .request = grpc_raw_byte_buffer_create(&body, 1),
        .details = grpc_empty_slice(),
        .deadline_ms = deadline_ms,
        .note_key = mem_string(note),
        .calls = calls,
        .arg = arg,
    };
    grpc_slice_unref(body);
    grpc_metadata_array_init(&stream->initial);
    grpc_metadata_array_init(&stream->trailing);
    if (rpc->streams)
        rpc->streams->link = &stream->next;
    rpc->streams = stream;
    channel->calls++;
    begin(stream, method);
    return stream;
}

void rpc_stream_cancel(struct rpc_stream **stream)
{
    struct rpc_stream *it = *stream;
    if (!it)
        return;
    *stream = NULL;
    it->cancelled = true;
    if (it->call)
        grpc_call_cancel(it->call, NULL);
}

void rpc_stream_cancel_all(struct rpc *rpc)
{
    for (struct rpc_stream *stream = rpc->streams; stream; stream = stream->next)
        if (stream->call)
            grpc_call_cancel(stream->call, NULL);
}
