#include "relay/why_records/task_gauge.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char metric[] = "ray_tasks{";

/* A label's value, within the text. */
struct label {
    const char *at;
    size_t len;
};

static bool label_is(struct label label, const char *text)
{
    return label.len == strlen(text) && memcmp(label.at, text, label.len) == 0;
}

static bool label_starts(struct label label, const char *text)
{
    return label.len >= strlen(text) && memcmp(label.at, text, strlen(text)) == 0;
}

/* The labels that count. */
struct sample {
    struct label name, state, source, job;
};

static const struct {
    const char *name;
    size_t offset;
} labels[] = {
    {"Name", offsetof(struct sample, name)},
    {"State", offsetof(struct sample, state)},
    {"Source", offsetof(struct sample, source)},
    {"JobId", offsetof(struct sample, job)},
};

static void keep_label(struct sample *sample, struct label name, struct label value)
{
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (label_is(name, labels[i].name))
            *(struct label *)((char *)sample + labels[i].offset) = value;
}

/* Reads `name="value",…}` at `at`; returns what is behind it, or NULL if the line is malformed. A
 * value with an escape is kept as it is: functions have none. */
static const char *read_labels(const char *at, struct sample *out)
{
    while (*at != '}') {
        struct label name = {at, strcspn(at, "=\n")}, value;
        at += name.len;
        if (at[0] != '=' || at[1] != '"')
            return NULL;
        value.at = at += 2;
        while (*at && *at != '\n' && *at != '"')
            at += at[0] == '\\' && at[1] ? 2 : 1;
        if (*at != '"')
            return NULL;
        value.len = (size_t)(at++ - value.at);
        keep_label(out, name, value);
        if (*at == ',')
            at++;
    }
    return at + 1;
}

static struct task_gauge *gauge_of(struct task_gauges *gauges, const struct sample *sample)
{
    for (size_t i = 0; i < gauges->count; i++)
        if (label_is(sample->name, gauges->items[i].function) &&
            label_is(sample->job, gauges->items[i].job_id))
            return &gauges->items[i];
    gauges->items = mem_resize(gauges->items, gauges->count + 1, sizeof *gauges->items);
    struct task_gauge *gauge = &gauges->items[gauges->count++];
    *gauge = (struct task_gauge){.function = mem_string_n(sample->name.at, sample->name.len)};
    if (sample->job.len < sizeof gauge->job_id)
        memcpy(gauge->job_id, sample->job.at, sample->job.len);
    return gauge;
}

static void read_sample(const char *at, struct task_gauges *out)
{
    struct sample sample = {0};
    const char *value = read_labels(at, &sample);
    if (!value || !sample.name.len || !sample.state.len || !sample.job.len ||
        (sample.source.at && !label_is(sample.source, "executor")))
        return;
    double number = strtod(value, NULL);
    if (!(number >= 1 && number <= INT32_MAX) || !label_starts(sample.state, "RUNNING"))
        return; /* also NaN */
    int64_t count = (int64_t)number;
    struct task_gauge *gauge = gauge_of(out, &sample);
    *(label_is(sample.state, "RUNNING_IN_RAY_GET") ? &gauge->in_get : &gauge->running) += count;
    if (label_is(sample.state, "RUNNING_IN_RAY_WAIT"))
        gauge->in_wait += count;
}

void task_gauges_read(const char *text, struct task_gauges *out)
{
    *out = (struct task_gauges){0};
    for (const char *line = text; line && *line;) {
        if (text_starts(line, metric))
            read_sample(line + strlen(metric), out);
        const char *end = strchr(line, '\n');
        line = end ? end + 1 : NULL;
    }
}

void task_gauges_clear(struct task_gauges *gauges)
{
    for (size_t i = 0; i < gauges->count; i++)
        free(gauges->items[i].function);
    free(gauges->items);
    *gauges = (struct task_gauges){0};
}

const struct task_gauge *task_gauges_find(const struct task_gauges *gauges, const char *function,
                                          const char *job_id)
{
    for (size_t i = 0; i < gauges->count; i++)
        if (text_equal(gauges->items[i].function, function) &&
            text_equal(gauges->items[i].job_id, job_id))
            return &gauges->items[i];
    return NULL;
}
