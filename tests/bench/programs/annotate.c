/* CPU time of reading a body once and of annotating it, interleaved: one line per body, "NAME BYTES
 * REFS SCAN APPLIES ANNOTATE", medians in microseconds. */
#include "relay/annotate/annotate.h"
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REFS = 10000, IN_LIST = 59, ROUNDS_MAX = 1000 };

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static size_t seen_rows;
static struct object_note notes[REFS];

static bool object(void *arg, const struct object_id *id, struct object_note *out)
{
    uint32_t index;
    (void)arg;
    memcpy(&index, id->bytes + ID_TASK_BYTES, sizeof index);
    *out = notes[index % REFS];
    return true;
}

static bool actor(void *arg, const char *actor_id, struct actor_note *out)
{
    (void)arg, (void)actor_id, (void)out;
    return false;
}

static void seen(void *arg, const struct annotate_seen *row)
{
    (void)arg;
    seen_rows += row->name.len > 0;
}

static void add_ref(struct buf *out, unsigned index)
{
    buf_printf(out, "ObjectRef(00668a65bda616c1ffffffffffffffffffffffff01000000%02x%02x0000)",
               index & 0xFF, index >> 8);
}

static void add_row(struct buf *out, unsigned index, const char *type, unsigned first,
                    unsigned count)
{
    buf_printf(out, "%s{\"name\": \"%u\", \"value\": \"", index ? ", " : "", index);
    if (strcmp(type, "list") == 0)
        buf_add_string(out, "[");
    for (unsigned i = 0; i < count; i++) {
        buf_add_string(out, i ? ", " : "");
        add_ref(out, first + i);
    }
    if (strcmp(type, "list") == 0)
        buf_add_string(out, "]");
    if (!count)
        buf_printf(out, "'a string of the length that a reference has, so that it compares: %u'",
                   index);
    buf_printf(out,
               "\", \"type\": \"%s\", \"evaluateName\": \"refs[%u]\", "
               "\"variablesReference\": %u}",
               type, index, index + 12);
}

static struct buf body(const char *type, unsigned rows, unsigned in_each)
{
    struct buf out = {0};
    buf_add_string(&out,
                   "{\"seq\": 20, \"type\": \"response\", \"request_seq\": 8, \"success\": true, "
                   "\"command\": \"variables\", \"body\": {\"variables\": [");
    for (unsigned i = 0; i < rows; i++)
        add_row(&out, i, type, i * in_each, in_each);
    buf_add_string(&out, "]}}");
    return out;
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

static void measure(const char *name, struct buf text, unsigned refs, size_t rounds)
{
    static double scan_us[ROUNDS_MAX], applies_us[ROUNDS_MAX], annotate_us[ROUNDS_MAX];
    struct annotate_options options = {0};
    struct annotate_source source = {object, actor, seen, NULL, NULL};
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, text.data, text.len, &problem) != 0)
        abort();
    for (size_t i = 0; i < rounds; i++) {
        struct buf out = {0};
        struct scan scan;
        struct span value;
        double times[4];
        scan_init(&scan, text.data, text.len);
        times[0] = cpu_us();
        if (!scan_value(&scan, &value))
            abort();
        times[1] = cpu_us();
        bool applies = annotate_applies(text.data, text.len);
        times[2] = cpu_us();
        if (applies && !annotate_response("variables", text.data, text.len, &envelope, &options,
                                          &source, &out))
            abort();
        times[3] = cpu_us();
        if (applies != (refs > 0))
            abort();
        scan_us[i] = times[1] - times[0];
        applies_us[i] = times[2] - times[1];
        annotate_us[i] = times[3] - times[2];
        buf_free(&out);
    }
    printf("%s %zu %u %.1f %.1f %.1f\n", name, text.len, refs, median(scan_us, rounds),
           median(applies_us, rounds), median(annotate_us, rounds));
    buf_free(&text);
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? (size_t)atoi(argv[1]) : 100;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        return 2;
    for (int i = 0; i < REFS; i++)
        notes[i] = (struct object_note){.state = OBJECT_STATE_READY,
                                        .size = 8000000 + i,
                                        .owner_pid = 5842,
                                        .owner_node = "node-1"};
    measure("refs", body("ObjectRef", REFS, 1), REFS, rounds);
    measure("lists", body("list", REFS / IN_LIST, IN_LIST), REFS / IN_LIST * IN_LIST, rounds);
    measure("strings", body("str", REFS, 0), 0, rounds);
    return seen_rows ? 0 : 1;
}
