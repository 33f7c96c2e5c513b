/* A timeline as a trace, and as a picture. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "cli/timeline/timeline_history.h"
#include "cli/timeline/timeline_picture.h"
#include "cli/timeline/timeline_trace.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US INT64_C(1000)

/* A task that has run for 4 ms, one that failed after 2 ms, and one that waits. */
struct world {
    struct ray_attempt attempts[3];
    struct ray_timing timings[3];
    struct ray_node node;
    struct ray_worker worker;
    struct why_records records;
};

static void open_world(struct world *world)
{
    *world = (struct world){.records = {.now_ms = 10, .attempt_count = 3}};
    world->records.attempts = world->attempts;
    world->records.nodes = &world->node;
    world->records.workers = &world->worker;
    world->records.node_count = world->records.worker_count = 1;
    memset(world->node.node_id, 'd', 56);
    world->node.ip = (char *)"10.0.0.7";
    world->node.is_alive = true;
    memset(world->worker.worker_id, 'e', 56);
    strcpy(world->worker.node_id, world->node.node_id);
    world->worker.pid = 762;
    world->worker.end_ms = 9;
    world->worker.exit_type = (char *)"SYSTEM_ERROR";
    world->worker.exit_detail = (char *)"a \"detail\"\n";
    for (size_t i = 0; i < 3; i++) {
        struct ray_attempt *it = &world->attempts[i];
        snprintf(it->task_id, sizeof it->task_id, "%048zu", i);
        it->name = (char *)(i ? "evil\033[31m\"name\xff" : "square");
        it->timing = &world->timings[i];
        it->timing->state_ns[RAY_ATTEMPT_PENDING_ARGS] = 1000 * US;
        if (i == 2)
            continue;
        strcpy(it->node_id, world->node.node_id);
        strcpy(it->worker_id, world->worker.worker_id);
        it->timing->state_ns[RAY_ATTEMPT_RUNNING] = (i ? 6000 : 2000) * US;
        it->timing->state_ns[i ? RAY_ATTEMPT_FAILED : RAY_ATTEMPT_FINISHED] =
            (i ? 8000 : 6000) * US;
    }
    world->attempts[1].has_error = true;
    world->attempts[1].error_message = (char *)"it broke";
}

/* What a relay says of a pause of the first task, from 3 ms to 5 ms. */
static struct timeline_history *open_history(const struct world *world)
{
    char *json = mem_format("{\"pauses\":[{\"worker_id\":\"%s\",\"task_id\":\"%s\",\"reason\":"
                            "\"a \\\"step\",\"location\":{\"file\":\"/a.py\",\"line\":8},"
                            "\"began\":0.003,\"ended\":0.005},{\"began\":1},{}]}",
                            world->worker.worker_id, world->attempts[0].task_id);
    struct timeline_history *history = timeline_history_read(json, strlen(json));
    free(json);
    return history;
}

static cJSON *trace_of(const struct world *world)
{
    struct timeline timeline;
    char *text;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    struct timeline_history *history = open_history(world);
    timeline_make(&world->records, NULL, timeline_history_pauses(history), &timeline);
    timeline_trace_write(&timeline, &world->records, "10.0.0.1:6379", file);
    fclose(file);
    timeline_clear(&timeline);
    timeline_history_free(&history);
    cJSON *trace = cJSON_Parse(text);
    for (size_t i = 0; i < len; i++) /* no terminal acts on it */
        assert_true(text[i] == '\n' || (unsigned char)text[i] >= 0x20);
    free(text);
    assert_non_null(trace);
    return trace;
}

static const cJSON *event(const cJSON *trace, const char *phase, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(cJSON_GetObjectItem(item, "ph")->valuestring, phase) == 0 &&
            strstr(cJSON_GetObjectItem(item, "name")->valuestring, name))
            return item;
    }
    fail_msg("no event %s %s", phase, name);
    return NULL;
}

static const char *arg(const cJSON *of, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(of, "args"), name));
}

static void a_trace(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    cJSON *trace = trace_of(&world);
    const cJSON *square = NULL, *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(cJSON_GetObjectItem(item, "name")->valuestring, "square") == 0 &&
            strcmp(cJSON_GetObjectItem(item, "cat")->valuestring, "task") == 0)
            square = item;
    }
    assert_non_null(square);
    assert_int_equal(cJSON_GetObjectItem(square, "ts")->valueint, 2000);
    assert_int_equal(cJSON_GetObjectItem(square, "dur")->valueint, 4000);
    assert_string_equal(arg(square, "state"), "finished");
    assert_string_equal(arg(event(trace, "M", "process_name"), "name"), "node 10.0.0.7");
    assert_string_equal(arg(event(trace, "M", "thread_name"), "name"), "worker pid 762");
    assert_string_equal(arg(event(trace, "i", "process died"), "detail"), "a \"detail\"\n");
    const cJSON *failed = event(trace, "X", "evil");
    assert_string_equal(arg(failed, "error_type"), "WORKER_DIED");
    assert_string_equal(arg(failed, "error"), "it broke");
    const cJSON *paused = event(trace, "X", "paused");
    assert_int_equal(cJSON_GetObjectItem(paused, "ts")->valueint, 3000);
    assert_int_equal(cJSON_GetObjectItem(paused, "dur")->valueint, 2000);
    assert_string_equal(arg(paused, "reason"), "a \"step");
    assert_string_equal(arg(paused, "file"), "/a.py");
    cJSON_Delete(trace);
}

static void answers_that_are_no_history(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "[]", "{}", "{\"pauses\":3}", "{\"pauses\":["};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(timeline_history_read(texts[i], strlen(texts[i])));
    static const char odd[] = "{\"pauses\":[3,{\"worker_id\":\"w\"},{\"worker_id\":\"w\",\"began\":"
                              "1e300},{\"worker_id\":\"w\",\"began\":1,\"location\":{\"line\":"
                              "1e300},\"task_id\":\"t\",\"ambiguous\":true}]}";
    struct timeline_history *history = timeline_history_read(odd, strlen(odd));
    const struct timeline_pauses *pauses = timeline_history_pauses(history);
    assert_int_equal(pauses->count, 1);
    assert_string_equal(pauses->items[0].task_id, "");
    timeline_history_free(&history);
    assert_null(timeline_history_pauses(NULL));
}

static void a_trace_of_nothing(void **state)
{
    (void)state;
    struct world world = {0};
    cJSON *trace = trace_of(&world);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(trace, "traceEvents")), 0);
    cJSON_Delete(trace);
}

static void a_picture(void **state)
{
    (void)state;
    struct world world;
    struct timeline timeline;
    struct buf out = {0};
    open_world(&world);
    struct timeline_history *history = open_history(&world);
    timeline_make(&world.records, NULL, timeline_history_pauses(history), &timeline);
    /* 1 ms to 10 ms: a column for each 0.25 ms */
    const struct timeline_style style = {.columns = 27 + 36, .rows = 20};
    timeline_picture(&timeline, &style, &out);
    assert_true(strncmp(out.data, "3 attempts, 1 failed, 1 waiting - 1 process on 1 node - ",
                        strlen("3 attempts, 1 failed, 1 waiting - 1 process on 1 node - ")) == 0);
    assert_non_null(strstr(out.data, "\npid 762@10.0.0.7               "
                                     "####PPPPPPPPP###########x       \n"));
    assert_non_null(strstr(out.data, "\nwaiting, at most 3         "));
    timeline_history_free(&history);
    buf_free(&out);
    timeline_clear(&timeline);
}

static void a_screen_that_is_too_low(void **state)
{
    (void)state;
    enum { COUNT = 30 };
    struct ray_attempt attempts[COUNT] = {0};
    struct ray_timing timings[COUNT] = {0};
    struct why_records records = {.now_ms = 10, .attempts = attempts, .attempt_count = COUNT};
    struct timeline timeline;
    struct buf out = {0};
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(attempts[i].worker_id, sizeof attempts[i].worker_id, "%056zu", i);
        attempts[i].pid = 100 + (int64_t)i;
        attempts[i].name = (char *)"t";
        attempts[i].timing = &timings[i];
        timings[i].state_ns[RAY_ATTEMPT_RUNNING] = 1000 * US;
        timings[i].state_ns[RAY_ATTEMPT_FINISHED] = (1100 + (int64_t)i * 100) * US;
    }
    timeline_make(&records, NULL, NULL, &timeline);
    const struct timeline_style style = {.columns = 80, .rows = 12, .utf8 = true};
    timeline_picture(&timeline, &style, &out);
    size_t lines = 0;
    for (const char *at = out.data; *at; at++)
        lines += *at == '\n';
    assert_true(lines <= 12);
    assert_non_null(strstr(out.data, "24 less busy processes are not shown"));
    assert_non_null(strstr(out.data, "pid 129@")); /* the busiest */
    assert_null(strstr(out.data, "pid 100@"));
    buf_free(&out);
    timeline_clear(&timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace),
        cmocka_unit_test(answers_that_are_no_history),
        cmocka_unit_test(a_trace_of_nothing),
        cmocka_unit_test(a_picture),
        cmocka_unit_test(a_screen_that_is_too_low),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
