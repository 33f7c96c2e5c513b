/* The relay's metrics, as Prometheus text for GET /metrics. One set per process; everything runs on
 * the loop's thread. */
#ifndef RAYDBG_RELAY_IO_METRICS_H
#define RAYDBG_RELAY_IO_METRICS_H

#include "base/buf.h"

#include <stdint.h>

/* Gauges are set, or added to with either sign; counters (…_TOTAL) only ever grow. */
enum metric {
    METRIC_SESSIONS_DRIVER,
    METRIC_SESSIONS_OBSERVER,
    METRIC_SESSIONS_TOTAL,
    METRIC_CONNECTIONS_DAP_TCP, /* open now */
    METRIC_CONNECTIONS_DAP_WEBSOCKET,
    METRIC_CONNECTIONS_EVENTS,
    METRIC_CONNECTIONS_DAP_TCP_TOTAL,
    METRIC_CONNECTIONS_DAP_WEBSOCKET_TOTAL,
    METRIC_CONNECTIONS_EVENTS_TOTAL,
    METRIC_HTTP_REQUESTS_TOTAL,
    METRIC_REFUSED_TOKEN_TOTAL,
    METRIC_REFUSED_ROLE_TOTAL,
    METRIC_REFUSED_ORIGIN_TOTAL,
    METRIC_REFUSED_HOST_TOTAL,
    METRIC_REFUSED_LIMIT_TOTAL,
    METRIC_REFUSED_TIMEOUT_TOTAL,
    METRIC_REFUSED_PROTOCOL_TOTAL,
    METRIC_PAUSES_WAITING,
    METRIC_PAUSES_ATTACHED,
    METRIC_PAUSES_IDLE,
    METRIC_HELD, /* pauses */
    METRIC_MESSAGES_FROM_CLIENT_TOTAL,
    METRIC_MESSAGES_TO_CLIENT_TOTAL,
    METRIC_MESSAGES_FROM_WORKER_TOTAL,
    METRIC_MESSAGES_TO_WORKER_TOTAL,
    METRIC_BYTES_FROM_CLIENT_TOTAL,
    METRIC_BYTES_TO_CLIENT_TOTAL,
    METRIC_BYTES_FROM_WORKER_TOTAL,
    METRIC_BYTES_TO_WORKER_TOTAL,
    METRIC_PREFETCH_REQUESTS_TOTAL, /* requests */
    METRIC_PREFETCH_USED_TOTAL,
    METRIC_LINKS, /* to workers, open now */
    METRIC_LINKS_FAILED_TOTAL,
    METRIC_KEEPER_HELD, /* connections */
    METRIC_KEEPER_UP,   /* 1 or 0 */
    METRIC_COUNT,
};

void metrics_add(enum metric metric, int64_t n);
void metrics_set(enum metric metric, int64_t value);

/* Records how long an attach took, from the request to its response. */
void metrics_attach_seconds(double seconds);

/* Takes the current time for the start that metrics_render() tells. Until then it tells none. */
void metrics_start(void);

/* Appends everything, with the process's own memory and descriptors:
 * Content-Type "text/plain; version=0.0.4; charset=utf-8". */
void metrics_render(struct buf *out);

/* Sets everything to 0; for tests. */
void metrics_reset(void);

#endif
