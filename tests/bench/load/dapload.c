/* A load of DAP clients that checks what it gets: exactly one answer to each request, for that
 * request, with the bytes that fakeadapter has sent. See usage().
 *
 * Prints one JSON object; exits 1 if an answer was missing, wrong, or one too many. */
#include "base/mem.h"
#include "base/text.h"
#include "load/client.h"
#include "load/endpoint.h"
#include "load/proc_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum { AT_ONCE = 256, ATTACHING = 64, PIDS = 64, MIB = 1 << 20 };
#define NS 1000000000.0

static void usage(void)
{
    fputs(
        "usage: dapload --connect ADDRESS:PORT [OPTION]...\n"
        "  --sessions N      clients (1)\n"
        "  --depth N         requests that each has open (1)\n"
        "  --body KIND       200, 10K, 1M, 20M, refs10K, refs1M (200); with rows that are new\n"
        "                    each time: new10K, new1M, newrefs10K, newrefs1M\n"
        "  --seconds S       how long it is measured (2); 0: only --idle\n"
        "  --warm S          before (0.3)\n"
        "  --idle S          first watch the clients be idle\n"
        "  --patience S      an answer that takes longer is missing (10)\n"
        "  --threads N       stopped threads of a session, which are asked for in turn (1)\n"
        "  --learn           the relay may change bodies: learn them, then compare\n"
        "  --rewritten       the same, and it must change them\n"
        "  --attach FILE     arguments of the attach, a line for each client, from the first "
        "again\n"
        "  --pid PID         whose CPU and memory is told, with that of its children; repeatable\n",
        stderr);
    exit(2);
}

struct options {
    const char *connect;
    int64_t sessions, busy, depth, threads;
    double seconds, warm, idle, patience;
    enum canned body;
    bool learns, rewritten;
    char **attach;
    size_t attach_count;
    int pids[PIDS];
    size_t pid_count;
};

struct run {
    const struct options *options;
    struct load load;
    struct client **clients;
    unsigned started;
};

/* --- options --- */

static void read_attach(struct options *options, const char *path)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    FILE *file = fopen(path, "re");
    if (!file)
        die("%s: %s", path, strerror(errno));
    while ((len = getline(&line, &size, file)) > 0) {
        options->attach =
            mem_resize(options->attach, options->attach_count + 1, sizeof *options->attach);
        options->attach[options->attach_count++] =
            mem_string_n(line, (size_t)len - (line[len - 1] == '\n'));
    }
    free(line);
    fclose(file);
    if (!options->attach_count)
        die("%s is empty", path);
}

static void read_integer(const char *text, int64_t most, int64_t *out)
{
    if (!text_to_int(text, 1, most, out))
        die("not a number from 1 to %lld: %s", (long long)most, text);
}

static void read_seconds(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || *out < 0)
        die("not a time in seconds: %s", text);
}

static bool read_value(struct options *options, const char *name, const char *value)
{
    const struct {
        const char *name;
        int64_t most;
        int64_t *out;
    } integers[] = {{"--sessions", 100000, &options->sessions},
                    {"--busy", 100000, &options->busy},
                    {"--depth", CLIENT_DEPTH_MOST, &options->depth},
                    {"--threads", 10000, &options->threads}};
    const struct {
        const char *name;
        double *out;
    } times[] = {{"--seconds", &options->seconds},
                 {"--warm", &options->warm},
                 {"--idle", &options->idle},
                 {"--patience", &options->patience}};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        if (text_equal(name, integers[i].name)) {
            read_integer(value, integers[i].most, integers[i].out);
            return true;
        }
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (text_equal(name, times[i].name)) {
            read_seconds(value, times[i].out);
            return true;
        }
    int64_t pid;
    if (text_equal(name, "--connect"))
        options->connect = value;
    else if (text_equal(name, "--attach"))
        read_attach(options, value);
    else if (text_equal(name, "--pid") && options->pid_count < PIDS) {
        read_integer(value, INT32_MAX, &pid);
        options->pids[options->pid_count++] = (int)pid;
    } else
        return text_equal(name, "--body") && canned_find(value, &options->body);
    return true;
}

static void read_options(struct options *options, int argc, char **argv)
{
    *options = (struct options){
        .sessions = 1, .depth = 1, .threads = 1, .seconds = 2, .warm = 0.3, .patience = 10};
    for (int i = 1; i < argc; i++) {
        if (text_equal(argv[i], "--learn"))
            options->learns = true;
        else if (text_equal(argv[i], "--rewritten"))
            options->learns = options->rewritten = true;
        else if (i + 1 == argc || !read_value(options, argv[i], argv[i + 1]))
            usage();
        else
            i++;
    }
    if (!options->connect)
        usage();
    if (!options->busy || options->busy > options->sessions)
        options->busy = options->sessions;
}

/* --- the run --- */

static void serve(struct run *run, int wait_ms)
{
    struct epoll_event events[AT_ONCE];
    int count = epoll_wait(run->load.epoll, events, AT_ONCE, wait_ms);
    for (int i = 0; i < count; i++)
        client_serve(events[i].data.ptr);
}

static void serve_for(struct run *run, double seconds)
{
    uint64_t until = latency_now() + (uint64_t)(seconds * NS), now;
    while ((now = latency_now()) < until)
        serve(run, (int)((until - now) / 1000000) + 1);
}

static void attach_all(struct run *run)
{
    const struct options *options = run->options;
    uint64_t last = latency_now();
    unsigned ready = 0;
    while (run->load.ready < options->sessions) {
        while (run->started < options->sessions && run->started - run->load.ready < ATTACHING) {
            const char *attach = options->attach_count
                                     ? options->attach[run->started % options->attach_count]
                                     : "{}";
            run->clients[run->started] = client_start(&run->load, run->started, attach);
            run->started++;
        }
        serve(run, 1000);
        if (run->load.ready != ready) {
            ready = run->load.ready;
            last = latency_now();
        } else if (latency_now() - last > (uint64_t)((options->patience + 10) * NS)) {
            die("%u of %lld clients have attached, and no other does", ready,
                (long long)options->sessions);
        }
    }
}

static void ask_all(struct run *run)
{
    run->load.asks = true;
    for (unsigned i = 0; i < run->options->busy; i++)
        client_fill(run->clients[i]);
}

/* Until each request has its answer; the time without any is limited. */
static void drain(struct run *run)
{
    uint64_t last = latency_now();
    unsigned long open = run->load.open;
    run->load.asks = false;
    while (run->load.open && latency_now() - last < (uint64_t)(run->options->patience * NS)) {
        serve(run, 100);
        if (run->load.open != open) {
            open = run->load.open;
            last = latency_now();
        }
    }
    for (unsigned i = 0; i < run->started; i++)
        client_tell_open(run->clients[i]);
}

struct measured {
    struct proc_use before, attached, started, ended;
    double attach_s, idle_cpu, seconds, cpu_ns;
};

static struct proc_use use_of(const struct run *run)
{
    return proc_tree_use(run->options->pids, run->options->pid_count);
}

static void measure_idle(struct run *run, struct measured *out)
{
    struct proc_use before = use_of(run);
    serve_for(run, run->options->idle);
    struct proc_use after = use_of(run);
    out->idle_cpu = (double)(after.cpu_ns - before.cpu_ns) / (run->options->idle * NS);
}

static void measure_load(struct run *run, struct measured *out)
{
    ask_all(run);
    serve_for(run, run->options->warm);
    proc_tree_reset_peak(run->options->pids, run->options->pid_count);
    out->started = use_of(run);
    uint64_t began = latency_now();
    run->load.measures = true;
    serve_for(run, run->options->seconds);
    run->load.measures = false;
    out->seconds = (double)(latency_now() - began) / NS;
    out->ended = use_of(run);
    out->cpu_ns = (double)(out->ended.cpu_ns - out->started.cpu_ns);
    drain(run);
    /* One answer too many would come now. */
    serve_for(run, 0.1);
}

static void print_result(struct run *run, const struct measured *got)
{
    const struct options *options = run->options;
    struct latency *latency = &run->load.latency;
    double count = (double)latency->count, sessions = (double)options->sessions;
    printf("{\"sessions\": %lld, \"depth\": %lld, \"threads\": %lld, \"body\": \"%s\", "
           "\"faults\": %lu, \"attach_ms\": %.3f",
           (long long)options->sessions, (long long)options->depth, (long long)options->threads,
           canned_name(options->body), run->load.faults, 1000 * got->attach_s / sessions);
    if (options->idle > 0 && options->pid_count)
        printf(", \"idle_cpu_percent\": %.3f", 100 * got->idle_cpu);
    if (options->pid_count)
        printf(", \"rss_before\": %zu, \"rss_attached\": %zu, \"processes\": %u, "
               "\"bytes_per_session\": %.0f",
               got->before.own, got->attached.own, got->attached.processes,
               ((double)got->attached.own - (double)got->before.own) / sessions);
    if (options->seconds > 0 && latency->count) {
        printf(", \"messages\": %zu, \"messages_per_s\": %.1f, \"mb_per_s\": %.2f, "
               "\"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f",
               latency->count, count / got->seconds, (double)run->load.bytes / 1e6 / got->seconds,
               latency_quantile_us(latency, 0.5), latency_quantile_us(latency, 0.9),
               latency_quantile_us(latency, 0.99));
        if (options->pid_count)
            printf(", \"cpu_us_per_message\": %.2f, \"cpu_percent\": %.1f, "
                   "\"peak_above_idle\": %.0f",
                   got->cpu_ns / 1000 / count, got->cpu_ns / got->seconds / NS * 100,
                   (double)got->ended.peak - (double)got->attached.resident);
    }
    puts("}");
}

int main(int argc, char **argv)
{
    struct options options;
    struct measured measured = {0};
    read_options(&options, argc, argv);
    endpoint_prepare();
    struct run run = {.options = &options,
                      .load = {.epoll = epoll_create1(EPOLL_CLOEXEC),
                               .to = endpoint_parse(options.connect),
                               .body = options.body,
                               .depth = (unsigned)options.depth,
                               .threads = (unsigned)options.threads,
                               .learns = options.learns,
                               .rewritten = options.rewritten}};
    run.clients = mem_array((size_t)options.sessions, sizeof(struct client *));
    measured.before = use_of(&run);
    uint64_t began = latency_now();
    attach_all(&run);
    measured.attach_s = (double)(latency_now() - began) / NS;
    serve_for(&run, 0.2);
    if (options.idle > 0)
        measure_idle(&run, &measured);
    measured.attached = use_of(&run);
    if (options.seconds > 0)
        measure_load(&run, &measured);
    print_result(&run, &measured);
    for (unsigned i = 0; i < run.started; i++)
        client_free(run.clients[i]);
    free(run.clients);
    for (size_t i = 0; i < options.attach_count; i++)
        free(options.attach[i]);
    free(options.attach);
    free(run.load.latency.ns);
    return run.load.faults ? 1 : 0;
}
