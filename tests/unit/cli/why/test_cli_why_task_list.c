/* `raydbg list --failed`: which attempts it has. */
#include "why_world.h"

#include "cli/why/task_list.h"

#include <cjson/cJSON.h>
#include <string.h>

static const struct task_list_select failed = {.failed = true};

static struct ray_attempt *attempts_of_thrice(struct why_world *world)
{
    for (size_t i = 0; i + 2 < world->records.attempt_count; i++)
        if (text_equal(world->records.attempts[i].name, "dies_thrice"))
            return &world->records.attempts[i];
    fail_msg("no dies_thrice");
    return NULL;
}

/* The number of the attempt of `dies_thrice` that is listed; -1 if none is. */
static int listed(const struct why_world *world)
{
    struct buf out = {0};
    int found = -1, rows = 0;
    task_list_json(&world->records, &failed, &out);
    buf_add(&out, "", 1);
    cJSON *list = cJSON_Parse(out.data), *row;
    cJSON_ArrayForEach(row, list)
    {
        if (!text_equal(cJSON_GetObjectItem(row, "task_name")->valuestring, "dies_thrice"))
            continue;
        found = cJSON_GetObjectItem(row, "attempt")->valueint;
        rows++;
    }
    assert_in_range(rows, 0, 1);
    cJSON_Delete(list);
    buf_free(&out);
    return found;
}

static void the_last_attempt_that_failed(void **state)
{
    static const struct why_style style = {.utf8 = true, .width = 300};
    struct why_world world;
    struct buf out = {0};
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *attempts = attempts_of_thrice(&world);
    assert_int_equal(listed(&world), 2);
    attempts[2].state = RAY_ATTEMPT_RUNNING;
    assert_int_equal(listed(&world), 1);
    task_list_table(&world.records, &failed, "10.0.0.7:6379", &style, &out);
    buf_add(&out, "", 1);
    assert_non_null(strstr(out.data, "; it is tried again"));
    buf_free(&out);
    attempts[2].state = RAY_ATTEMPT_PENDING_NODE;
    assert_int_equal(listed(&world), 1);
    attempts[2].state = RAY_ATTEMPT_FINISHED; /* in the end it did what it should */
    assert_int_equal(listed(&world), -1);
    attempts[2].state = RAY_ATTEMPT_RUNNING;
    world.records.since_ms = world.records.now_ms; /* it failed before */
    assert_int_equal(listed(&world), -1);
    why_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_attempt_that_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
