/* The capabilities that all tasks have, and the cost of finding them. */
#include "cmocka_prelude.h"

#include "base/intern.h"
#include "base/mem.h"
#include "dap/scan.h"
#include "relay/many/many_state.h"
#include "relay/session/session_state.h"

#include <stdlib.h>
#include <string.h>

enum { TASKS = 200 };

static struct world {
    struct session session;
    struct many many;
    struct many_task tasks[TASKS];
    struct buf told;
    size_t scans;
} world;

bool __real_scan_find(const char *json, struct span object, const char *key, struct span *value);
bool __wrap_scan_find(const char *json, struct span object, const char *key, struct span *value);

bool __wrap_scan_find(const char *json, struct span object, const char *key, struct span *value)
{
    world.scans++;
    return __real_scan_find(json, object, key, value);
}

static void on_message(void *arg, const char *json, size_t len)
{
    (void)arg;
    buf_clear(&world.told, 65536);
    buf_add(&world.told, json, len);
}

static int begin(void **state)
{
    (void)state;
    world = (struct world){0};
    client_init(&world.session.client, on_message, NULL);
    world.many.client = &world.session.client;
    world.many.attach = &world.session.attach;
    world.many.initialized = true;
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (size_t i = 0; i < TASKS; i++)
        intern_drop(&world.tasks[i].capabilities);
    client_free(&world.session.client);
    free(world.many.limits);
    buf_free(&world.told);
    return 0;
}

static void join(size_t index, const char *capabilities)
{
    struct many_task *task = &world.tasks[index];
    *task = (struct many_task){.many = &world.many,
                               .next = world.many.targets,
                               .state = MANY_RUNNING,
                               .capabilities = intern_get(capabilities, strlen(capabilities))};
    world.many.targets = task;
}

static size_t scans_of_a_telling(void)
{
    world.scans = 0;
    many_capabilities_tell(&world.many);
    return world.scans;
}

static void equal_capabilities_are_read_once(void **state)
{
    static const char some[] = "{\"supportsSetVariable\":true}";
    (void)state;
    join(0, some);
    many_capabilities_tell(&world.many);
    size_t scans = scans_of_a_telling();
    assert_true(scans > 0);
    for (size_t i = 1; i < TASKS; i++)
        join(i, some);
    assert_int_equal(scans_of_a_telling(), scans);
}

static void what_one_lacks_is_told(void **state)
{
    (void)state;
    join(0, "{\"supportsSetVariable\":true,\"supportsLogPoints\":true}");
    join(1, "{\"supportsSetVariable\":true}");
    many_capabilities_tell(&world.many);
    assert_non_null(strstr(world.told.data, "\"supportsLogPoints\":false"));
    assert_null(strstr(world.told.data, "supportsSetVariable"));
    world.tasks[1].state = MANY_GONE;
    many_capabilities_tell(&world.many);
    assert_non_null(strstr(world.told.data, "\"supportsLogPoints\":true"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(equal_capabilities_are_read_once),
        TEST(what_one_lacks_is_told),
    };
    return cmocka_run_group_tests_name("capabilities of many tasks", tests, NULL, NULL);
}
