/* CPU time of passing a message on with a new seq, and of doing so with its ids exchanged, each of
 * them new as after a step, interleaved: one line per message, "NAME BYTES IDS FORWARD REWRITE",
 * medians in microseconds. */
#include "base/buf.h"
#include "base/mem.h"
#include "dap/id_rewrite.h"
#include "dap/splice.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MEGABYTE = 1 << 20, ROUNDS_MAX = 10000, SLOT = 7, THREAD = 3 };

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static void add_head(struct buf *out, const char *command)
{
    buf_printf(out,
               "{\"seq\": 20, \"type\": \"response\", \"request_seq\": 8, \"success\": true, "
               "\"command\": \"%s\", \"body\": ",
               command);
}

/* Rows as debugpy's; each `every`-th can be expanded. */
static struct buf variables(size_t bytes, unsigned every)
{
    struct buf out = {0};
    add_head(&out, "variables");
    buf_add_string(&out, "{\"variables\": [");
    for (unsigned i = 0; out.len < bytes; i++)
        buf_printf(&out,
                   "%s{\"name\": \"%06u\", \"value\": \"{'loss': 0.%u, 'step': %u}\", \"type\": "
                   "\"dict\", \"evaluateName\": \"history[%u]\", \"variablesReference\": %u}",
                   i ? ", " : "", i, i, i, i, i % every ? 0 : i + 12);
    buf_add_string(&out, "]}}");
    return out;
}

/* Few and long values, as arrays and texts have. */
static struct buf long_values(size_t bytes)
{
    struct buf out = {0};
    add_head(&out, "variables");
    buf_add_string(&out, "{\"variables\": [");
    for (unsigned i = 0; out.len < bytes; i++) {
        buf_printf(&out, "%s{\"name\": \"%u\", \"value\": \"array([", i ? ", " : "", i);
        for (unsigned j = 0; j < 1000; j++)
            buf_printf(&out, "0.%u, ", j);
        buf_printf(&out, "])\", \"type\": \"ndarray\", \"variablesReference\": %u}", i + 12);
    }
    buf_add_string(&out, "]}}");
    return out;
}

static struct buf stack(unsigned frames)
{
    struct buf out = {0};
    add_head(&out, "stackTrace");
    buf_add_string(&out, "{\"stackFrames\": [");
    for (unsigned i = 0; i < frames; i++)
        buf_printf(&out,
                   "%s{\"id\": %u, \"name\": \"train_one_epoch\", \"line\": %u, \"column\": 1, "
                   "\"source\": {\"path\": \"/home/ray/project/train/loop_%u.py\", "
                   "\"sourceReference\": 0}, \"presentationHint\": \"normal\"}",
                   i ? ", " : "", i + 5, i + 40, i);
    buf_printf(&out, "], \"totalFrames\": %u}}", frames);
    return out;
}

static struct buf text(const char *bytes)
{
    struct buf out = {0};
    buf_add_string(&out, bytes);
    return out;
}

/* From here on the client gets a message as its start, and the rest where it lies. */
enum { LONG = 65536 };

/* What a relay does with a message that is not changed. */
static void forward(const char *json, size_t len, const struct envelope *known, struct buf *out)
{
    struct envelope envelope;
    const char *problem;
    if (known)
        envelope = *known;
    else if (envelope_read(&envelope, json, len, &problem) != 0)
        abort();
    if (len < LONG)
        splice_seq(json, len, &envelope, 123456, 7890, out);
    else
        splice_seq_head(json, &envelope, 123456, 7890, out);
}

static void rewrite(struct idmap *map, const char *json, size_t len, struct buf *middle,
                    struct buf *out)
{
    struct envelope envelope, moved;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) != 0 ||
        !id_rewrite_out(map, SLOT, THREAD, json, len, &envelope, middle))
        abort();
    envelope_moved(&envelope, len, middle->data, middle->len, &moved);
    forward(middle->data, middle->len, &moved, out);
    idmap_end_stop(map, SLOT, THREAD);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static size_t count_ids(const struct buf *json)
{
    struct idmap *map = idmap_create();
    struct envelope envelope;
    struct buf out = {0};
    const char *problem;
    if (envelope_read(&envelope, json->data, json->len, &problem) != 0)
        abort();
    id_rewrite_out(map, SLOT, THREAD, json->data, json->len, &envelope, &out);
    size_t count = idmap_count(map);
    buf_free(&out);
    idmap_destroy(&map);
    return count;
}

/* Small messages are timed by the hundred: the clock is not that fine. */
static void measure(const char *name, struct buf json, size_t rounds)
{
    static double forward_us[ROUNDS_MAX], rewrite_us[ROUNDS_MAX];
    unsigned times = json.len < 100000 ? 100 : 1;
    struct idmap *map = idmap_create();
    /* Another task is held meanwhile. */
    for (int64_t id = 1; id < 1000; id++)
        idmap_out(map, 1, ID_VARIABLES, id, THREAD);
    for (size_t i = 0; i < rounds; i++) {
        double start = cpu_us();
        for (unsigned n = 0; n < times; n++) {
            struct buf out = {0};
            forward(json.data, json.len, NULL, &out);
            buf_free(&out);
        }
        double between = cpu_us();
        for (unsigned n = 0; n < times; n++) {
            struct buf middle = {0}, out = {0};
            rewrite(map, json.data, json.len, &middle, &out);
            buf_free(&middle);
            buf_free(&out);
        }
        forward_us[i] = (between - start) / times;
        rewrite_us[i] = (cpu_us() - between) / times;
    }
    printf("%s %zu %zu %.3f %.3f\n", name, json.len, count_ids(&json), median(forward_us, rounds),
           median(rewrite_us, rounds));
    idmap_destroy(&map);
    buf_free(&json);
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? (size_t)atoi(argv[1]) : 100;
    mem_tune();
    if (rounds < 1 || rounds > ROUNDS_MAX)
        return 2;
    measure("variables-all", variables(MEGABYTE, 1), rounds);
    measure("variables-some", variables(MEGABYTE, 5), rounds);
    measure("variables-long", long_values(MEGABYTE), rounds);
    measure("variables-20", variables(2800, 3), rounds);
    measure("stackTrace-12", stack(12), rounds);
    measure("stopped",
            text("{\"seq\": 20, \"type\": \"event\", \"event\": \"stopped\", \"body\": "
                 "{\"reason\": \"breakpoint\", \"threadId\": 4, \"preserveFocusHint\": "
                 "false, \"allThreadsStopped\": true, \"hitBreakpointIds\": [2]}}"),
            rounds);
    measure("threads-4",
            text("{\"seq\": 20, \"type\": \"response\", \"request_seq\": 8, "
                 "\"success\": true, \"command\": \"threads\", \"body\": "
                 "{\"threads\": [{\"id\": 1, \"name\": \"MainThread\"}, {\"id\": 2, "
                 "\"name\": \"PythonGCThread\"}, {\"id\": 3, \"name\": \"Dummy-1\"}, "
                 "{\"id\": 4, \"name\": \"Dummy-2\"}]}}"),
            rounds);
    return 0;
}
