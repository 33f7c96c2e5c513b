#include "relay/io/metrics.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Rows of one family follow each other; the first has the type and the help. */
static const struct row {
    const char *family;
    const char *labels; /* as written, or NULL */
    const char *type;
    const char *help;
} rows[METRIC_COUNT] = {
    [METRIC_SESSIONS_DRIVER] = {"raydbg_sessions", "role=\"driver\"", "gauge",
                                "DAP sessions that are open."},
    [METRIC_SESSIONS_OBSERVER] = {"raydbg_sessions", "role=\"observer\"", NULL, NULL},
    [METRIC_SESSIONS_TOTAL] = {"raydbg_sessions_opened_total", NULL, "counter",
                               "DAP sessions since the start."},
    [METRIC_CONNECTIONS_DAP_TCP] = {"raydbg_connections", "protocol=\"dap\"", "gauge",
                                    "Client connections that are open."},
    [METRIC_CONNECTIONS_DAP_WEBSOCKET] = {"raydbg_connections", "protocol=\"websocket\"", NULL,
                                          NULL},
    [METRIC_CONNECTIONS_EVENTS] = {"raydbg_connections", "protocol=\"events\"", NULL, NULL},
    [METRIC_CONNECTIONS_DAP_TCP_TOTAL] = {"raydbg_connections_opened_total", "protocol=\"dap\"",
                                          "counter", "Client connections since the start."},
    [METRIC_CONNECTIONS_DAP_WEBSOCKET_TOTAL] = {"raydbg_connections_opened_total",
                                                "protocol=\"websocket\"", NULL, NULL},
    [METRIC_CONNECTIONS_EVENTS_TOTAL] = {"raydbg_connections_opened_total", "protocol=\"events\"",
                                         NULL, NULL},
    [METRIC_HTTP_REQUESTS_TOTAL] = {"raydbg_http_requests_total", NULL, "counter",
                                    "HTTP requests that were answered."},
    [METRIC_REFUSED_TOKEN_TOTAL] = {"raydbg_refused_total", "reason=\"token\"", "counter",
                                    "Connections and requests that were refused."},
    [METRIC_REFUSED_ROLE_TOTAL] = {"raydbg_refused_total", "reason=\"role\"", NULL, NULL},
    [METRIC_REFUSED_ORIGIN_TOTAL] = {"raydbg_refused_total", "reason=\"origin\"", NULL, NULL},
    [METRIC_REFUSED_HOST_TOTAL] = {"raydbg_refused_total", "reason=\"host\"", NULL, NULL},
    [METRIC_REFUSED_LIMIT_TOTAL] = {"raydbg_refused_total", "reason=\"limit\"", NULL, NULL},
    [METRIC_REFUSED_TIMEOUT_TOTAL] = {"raydbg_refused_total", "reason=\"timeout\"", NULL, NULL},
    [METRIC_REFUSED_PROTOCOL_TOTAL] = {"raydbg_refused_total", "reason=\"protocol\"", NULL, NULL},
    [METRIC_PAUSES_WAITING] = {"raydbg_pauses", "state=\"waiting\"", "gauge",
                               "Paused tasks of the cluster."},
    [METRIC_PAUSES_ATTACHED] = {"raydbg_pauses", "state=\"attached\"", NULL, NULL},
    [METRIC_PAUSES_IDLE] = {"raydbg_pauses", "state=\"idle\"", NULL, NULL},
    [METRIC_HELD] = {"raydbg_held_pauses", NULL, "gauge", "Pauses that the relay holds."},
    [METRIC_MESSAGES_FROM_CLIENT_TOTAL] = {"raydbg_messages_total", "direction=\"from_client\"",
                                           "counter", "DAP messages."},
    [METRIC_MESSAGES_TO_CLIENT_TOTAL] = {"raydbg_messages_total", "direction=\"to_client\"", NULL,
                                         NULL},
    [METRIC_MESSAGES_FROM_WORKER_TOTAL] = {"raydbg_messages_total", "direction=\"from_worker\"",
                                           NULL, NULL},
    [METRIC_MESSAGES_TO_WORKER_TOTAL] = {"raydbg_messages_total", "direction=\"to_worker\"", NULL,
                                         NULL},
    [METRIC_BYTES_FROM_CLIENT_TOTAL] = {"raydbg_bytes_total", "direction=\"from_client\"",
                                        "counter", "Bytes of DAP messages, without headers."},
    [METRIC_BYTES_TO_CLIENT_TOTAL] = {"raydbg_bytes_total", "direction=\"to_client\"", NULL, NULL},
    [METRIC_BYTES_FROM_WORKER_TOTAL] = {"raydbg_bytes_total", "direction=\"from_worker\"", NULL,
                                        NULL},
    [METRIC_BYTES_TO_WORKER_TOTAL] = {"raydbg_bytes_total", "direction=\"to_worker\"", NULL, NULL},
    [METRIC_PREFETCH_REQUESTS_TOTAL] = {"raydbg_prefetch_requests_total", NULL, "counter",
                                        "Requests made before the client made them."},
    [METRIC_PREFETCH_USED_TOTAL] = {"raydbg_prefetch_used_total", NULL, "counter",
                                    "Of these, what clients have then asked for."},
    [METRIC_LINKS] = {"raydbg_upstream_links", NULL, "gauge", "Connections to workers."},
    [METRIC_LINKS_FAILED_TOTAL] = {"raydbg_upstream_links_failed_total", NULL, "counter",
                                   "Connections to workers that broke or could not be made."},
    [METRIC_KEEPER_HELD] = {"raydbg_keeper_held", NULL, "gauge",
                            "Connections in the keeper's hands."},
    [METRIC_KEEPER_UP] = {"raydbg_keeper_up", NULL, "gauge", "1 if the keeper lives."},
};

static const double bounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

static struct {
    int64_t values[METRIC_COUNT];
    uint64_t buckets[BOUNDS + 1]; /* not cumulative; the last counts values above all bounds */
    double sum;
} set;

static double start_seconds; /* since the epoch; 0 before metrics_start() */

void metrics_add(enum metric metric, int64_t n)
{
    set.values[metric] += n;
}

void metrics_set(enum metric metric, int64_t value)
{
    set.values[metric] = value;
}

void metrics_attach_seconds(double seconds)
{
    size_t i = 0;
    while (i < BOUNDS && seconds > bounds[i])
        i++;
    set.buckets[i]++;
    set.sum += seconds;
}

void metrics_start(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    start_seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void metrics_reset(void)
{
    memset(&set, 0, sizeof set);
}

/* --- rendering --- */

/* To the µs, and with a decimal point whatever LC_NUMERIC says. */
static void add_seconds(struct buf *out, double seconds)
{
    int64_t us = (int64_t)(seconds * 1e6 + 0.5);
    buf_printf(out, "%" PRId64 ".%06" PRId64, us / 1000000, us % 1000000);
}

static void add_head(struct buf *out, const char *family, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", family, help, family, type);
}

static void add_histogram(struct buf *out)
{
    const char *name = "raydbg_attach_seconds";
    uint64_t count = 0;
    add_head(out, name, "histogram", "From an attach request to its answer.");
    for (size_t i = 0; i < BOUNDS; i++) {
        count += set.buckets[i];
        buf_printf(out, "%s_bucket{le=\"", name);
        int64_t thousandths = (int64_t)(bounds[i] * 1000 + 0.5);
        buf_printf(out, "%" PRId64, thousandths / 1000);
        if (thousandths % 1000)
            buf_printf(out, ".%03" PRId64, thousandths % 1000);
        buf_printf(out, "\"} %" PRIu64 "\n", count);
    }
    count += set.buckets[BOUNDS];
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum ", name, count, name);
    add_seconds(out, set.sum);
    buf_printf(out, "\n%s_count %" PRIu64 "\n", name, count);
}

static bool read_text(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t len = fread(out, 1, size - 1, file);
    fclose(file);
    out[len] = '\0';
    return len > 0;
}

static bool resident_bytes(int64_t *out)
{
    char statm[128];
    if (!read_text("/proc/self/statm", statm, sizeof statm))
        return false;
    const char *pages = strchr(statm, ' ');
    *out = pages ? strtoll(pages, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
    return pages != NULL;
}

static bool open_descriptors(int64_t *out)
{
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        return false;
    *out = -1; /* opendir()'s own descriptor does not count */
    for (const struct dirent *entry; (entry = readdir(directory));)
        *out += entry->d_name[0] != '.';
    closedir(directory);
    return true;
}

/* The metric names are those of every Prometheus client library. Values that the system does not
 * provide are left out. */
static void add_process(struct buf *out)
{
    int64_t value;
    struct rlimit limit;
    struct rusage usage;
    if (resident_bytes(&value)) {
        add_head(out, "process_resident_memory_bytes", "gauge", "Resident memory.");
        buf_printf(out, "process_resident_memory_bytes %" PRId64 "\n", value);
    }
    if (start_seconds > 0) {
        add_head(out, "process_start_time_seconds", "gauge", "Start, since the epoch.");
        buf_add_string(out, "process_start_time_seconds ");
        add_seconds(out, start_seconds);
        buf_add(out, "\n", 1);
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        add_head(out, "process_cpu_seconds_total", "counter", "User and system time.");
        buf_add_string(out, "process_cpu_seconds_total ");
        add_seconds(out, (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                             (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
        buf_add(out, "\n", 1);
    }
    if (open_descriptors(&value)) {
        add_head(out, "process_open_fds", "gauge", "Open descriptors.");
        buf_printf(out, "process_open_fds %" PRId64 "\n", value);
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        add_head(out, "process_max_fds", "gauge", "Open descriptors at most.");
        buf_printf(out, "process_max_fds %" PRIu64 "\n", (uint64_t)limit.rlim_cur);
    }
}

void metrics_render(struct buf *out)
{
    add_head(out, "raydbg_build_info", "gauge", "1, with the version.");
    buf_printf(out, "raydbg_build_info{version=\"%s\"} 1\n", RAYDBG_VERSION);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct row *row = &rows[i];
        if (row->type)
            add_head(out, row->family, row->type, row->help);
        buf_add_string(out, row->family);
        if (row->labels)
            buf_printf(out, "{%s}", row->labels);
        buf_printf(out, " %" PRId64 "\n", set.values[i]);
    }
    add_histogram(out);
    add_process(out);
}
