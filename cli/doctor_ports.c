#include "cli/doctor_ports.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/frame.h"
#include "relay/stream.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256, CONNECT_MS = 1200, GREETING_MS = 800, GREETING_MAX = 16384 };

struct door {
    struct doctor_knock *knock;
    struct doctor_port *port;
    struct stream *stream;
    struct timer *timer;
    struct frame frame;
};

struct doctor_knock {
    struct doctor_asking *asking;
    enum doctor_port_kind kind;
    size_t count;
    struct door doors[];
};

void doctor_ports_add(struct doctor_ports *ports, const char *host, uint16_t port, int64_t pid)
{
    if (ports->count == MOST) {
        ports->left_out++;
        return;
    }
    ports->items = mem_resize(ports->items, ports->count + 1, sizeof *ports->items);
    ports->items[ports->count++] =
        (struct doctor_port){.host = mem_string(host), .port = port, .pid = pid};
}

void doctor_ports_clear(struct doctor_ports *ports)
{
    for (size_t i = 0; i < ports->count; i++) {
        free(ports->items[i].host);
        free(ports->items[i].why);
    }
    free(ports->items);
    *ports = (struct doctor_ports){0};
}

/* --- the greeting --- */

/* The version in an adapter's event, or NULL: {"event":"output","body":{"category":"telemetry",
 * "output":"debugpy","data":{"packageVersion":…}}}. */
static const char *version_of(const cJSON *message)
{
    const cJSON *body = cJSON_GetObjectItemCaseSensitive(message, "body");
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(body, "data");
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "packageVersion"));
}

int doctor_greeting_read(struct frame *frame, const char *bytes, size_t len, char debugpy[32])
{
    while (len) {
        size_t consumed, body_len;
        enum frame_status status = frame_feed(frame, bytes, len, &consumed);
        bytes += consumed;
        len -= consumed;
        if (status == FRAME_ERROR)
            return -1;
        if (status != FRAME_MESSAGE)
            continue;
        const char *body = frame_body(frame, &body_len);
        cJSON *message = cJSON_ParseWithLength(body, body_len);
        const char *version = version_of(message);
        if (version)
            text_copy(debugpy, 32, version);
        cJSON_Delete(message);
        if (version)
            return 1;
    }
    return 0;
}

/* --- knocking --- */

static void close_door(struct door *door)
{
    timer_cancel(&door->timer);
    stream_destroy(&door->stream);
    frame_free(&door->frame);
}

static void decide(struct door *door, enum doctor_answer answer, const char *why)
{
    door->port->answer = answer;
    door->port->why = mem_string(why);
    close_door(door);
    doctor_asking_end(door->knock->asking);
}

static void on_no_greeting(void *arg)
{
    struct door *door = arg;
    door->timer = NULL;
    decide(door, DOCTOR_SILENT, NULL);
}

static void on_open(void *arg)
{
    struct door *door = arg;
    if (door->knock->kind == DOCTOR_RAYLET)
        decide(door, DOCTOR_YES, NULL);
    else
        door->timer = timer_start(door->knock->asking->loop, GREETING_MS, on_no_greeting, door);
}

static void on_bytes(void *arg, const char *bytes, size_t len)
{
    struct door *door = arg;
    int known = doctor_greeting_read(&door->frame, bytes, len, door->port->debugpy);
    if (known == 1)
        decide(door, DOCTOR_YES, NULL);
    else if (known < 0)
        decide(door, DOCTOR_REFUSED, "something else than a debugger listens there");
}

static void on_close(void *arg, const char *why)
{
    decide(arg, DOCTOR_REFUSED, why ? why : "it hangs up at once");
}

struct doctor_knock *doctor_knock(struct doctor_asking *asking, struct doctor_ports *ports,
                                  enum doctor_port_kind kind)
{
    static const struct stream_ops ops = {
        .on_open = on_open,
        .on_bytes = on_bytes,
        .on_close = on_close,
    };
    struct doctor_knock *knock = mem_alloc(sizeof *knock + ports->count * sizeof knock->doors[0]);
    knock->asking = asking;
    knock->kind = kind;
    knock->count = ports->count;
    for (size_t i = 0; i < ports->count; i++) {
        struct door *door = &knock->doors[i];
        door->knock = knock;
        door->port = &ports->items[i];
        frame_init(&door->frame, GREETING_MAX);
        doctor_asking_begin(asking);
        door->stream = stream_connect(asking->loop, door->port->host, door->port->port, CONNECT_MS,
                                      false, &ops, door);
    }
    return knock;
}

void doctor_knock_stop(struct doctor_knock **knock)
{
    struct doctor_knock *it = *knock;
    if (!it)
        return;
    *knock = NULL;
    for (size_t i = 0; i < it->count; i++)
        close_door(&it->doors[i]);
    free(it);
}
