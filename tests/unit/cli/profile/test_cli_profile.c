/* A profile as a table, and in the formats that other programs open. */
#include "cmocka_prelude.h"

#include "cli/profile/profile_export.h"
#include "cli/profile/profile_text.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

struct world {
    struct ray_node node;
    struct ray_worker workers[2];
    struct why_records records;
    struct cpu_profile *profile;
};

static void open_world(struct world *world, const char *first, const char *second)
{
    *world = (struct world){0};
    memset(world->node.node_id, 'd', 56);
    world->node.ip = (char *)"10.0.0.7";
    for (size_t i = 0; i < 2; i++) {
        strcpy(world->workers[i].node_id, world->node.node_id);
        world->workers[i].pid = 100 + (int64_t)i;
    }
    world->records = (struct why_records){
        .nodes = &world->node, .node_count = 1, .workers = world->workers, .worker_count = 2};
    world->profile = cpu_profile_create(&world->records, false);
    cpu_profile_add(world->profile, &world->workers[0], first, NULL);
    cpu_profile_add(world->profile, &world->workers[1], second, "No such process (os error 3)");
}

static const char some[] = "burn (app.py:40);inner (app.py:37) 60\nburn (app.py:40) 20\n";
static const char more[] = "burn (app.py:40);<lambda> (a\"&.py:2);native (lib.so) 20\n";
/* What a program may put into its names. */
static const char evil[] = "f\033[31m</title><script>\"&' (x\"]}\\.py:1) 1\n\xff (\xc3.py:2) 1\n";

static void a_table(void **state)
{
    (void)state;
    static const struct profile_text_style style = {.utf8 = true, .columns = 100};
    struct world world;
    struct buf out = {0};
    open_world(&world, some, more);
    profile_text_table(world.profile, &style, &out);
    assert_string_equal(out.data, "    SELF    TOTAL  FUNCTION  LOCATION   PROCESSES\n"
                                  "  60.0 %   60.0 %  inner     app.py:37  1 of 2\n"
                                  "  20.0 %  100.0 %  burn      app.py:40  2\n"
                                  "  20.0 %   20.0 %  native    lib.so     1 of 2\n"
                                  "   0.0 %   20.0 %  <lambda>  a\"&.py:2   1 of 2\n");
    buf_free(&out);
    cpu_profile_destroy(&world.profile);

    struct buf text = {0};
    for (int i = 0; i < PROFILE_TEXT_ROWS + 5; i++)
        buf_printf(&text, "f%d (a.py:1) 1\n", i);
    open_world(&world, text.data, NULL);
    profile_text_table(world.profile, &style, &out);
    assert_non_null(strstr(out.data, "and 5 more functions"));
    assert_non_null(strstr(out.data, "not shown: 1 process, the process has ended: 101@10.0.0.7"));
    buf_free(&out);
    buf_free(&text);
    cpu_profile_destroy(&world.profile);
}

static int64_t number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    assert_true(cJSON_IsNumber(item));
    return (int64_t)item->valuedouble;
}

static void json(void **state)
{
    (void)state;
    struct world world;
    struct buf out = {0};
    open_world(&world, some, evil);
    profile_text_json(world.profile, 5, &out);
    cJSON *whole = cJSON_Parse(out.data);
    assert_non_null(whole);
    assert_int_equal(number(whole, "seconds"), 5);
    assert_int_equal(number(whole, "samples"), 82);
    const cJSON *processes = cJSON_GetObjectItem(whole, "processes");
    assert_int_equal(number(cJSON_GetArrayItem(processes, 0), "samples"), 80);
    assert_int_equal(number(cJSON_GetArrayItem(processes, 1), "pid"), 101);
    const cJSON *functions = cJSON_GetObjectItem(whole, "functions");
    assert_int_equal(cJSON_GetArraySize(functions), 4);
    assert_int_equal(number(cJSON_GetArrayItem(functions, 1), "total"), 80);
    cJSON_Delete(whole);
    buf_free(&out);
    cpu_profile_destroy(&world.profile);
}

/* Folded stacks that are read again are the same. */
static void folded(void **state)
{
    (void)state;
    struct world one, two;
    struct buf first = {0}, second = {0};
    open_world(&one, some, more);
    profile_export_folded(one.profile, &first);
    assert_string_equal(first.data, "burn (app.py:40) 20\n"
                                    "burn (app.py:40);inner (app.py:37) 60\n"
                                    "burn (app.py:40);<lambda> (a\"&.py:2);native (lib.so) 20\n");
    open_world(&two, first.data, "");
    profile_export_folded(two.profile, &second);
    assert_string_equal(first.data, second.data);
    buf_free(&first);
    buf_free(&second);
    cpu_profile_destroy(&one.profile);
    cpu_profile_destroy(&two.profile);
}

/* tests/conversations/test_profile.py compares it with the schema. */
static void speedscope(void **state)
{
    (void)state;
    struct world world;
    struct buf out = {0};
    open_world(&world, some, more);
    profile_export_speedscope(world.profile, "a \"title\"", &out);
    cJSON *whole = cJSON_Parse(out.data);
    assert_non_null(whole);
    const cJSON *frames = cJSON_GetObjectItem(cJSON_GetObjectItem(whole, "shared"), "frames");
    const cJSON *profile = cJSON_GetArrayItem(cJSON_GetObjectItem(whole, "profiles"), 0);
    const cJSON *samples = cJSON_GetObjectItem(profile, "samples");
    const cJSON *weights = cJSON_GetObjectItem(profile, "weights"), *weight;
    int64_t sum = 0;
    assert_int_equal(cJSON_GetArraySize(frames), 4);
    assert_int_equal(cJSON_GetArraySize(samples), 3);
    cJSON_ArrayForEach(weight, weights) sum += (int64_t)weight->valuedouble;
    assert_int_equal(sum, number(profile, "endValue"));
    const cJSON *stack = cJSON_GetArrayItem(samples, 1);
    assert_int_equal(cJSON_GetArraySize(stack), 2); /* outermost first */
    const cJSON *leaf = cJSON_GetArrayItem(frames, cJSON_GetArrayItem(stack, 1)->valueint);
    assert_string_equal(cJSON_GetObjectItem(leaf, "name")->valuestring, "inner");
    assert_int_equal(number(leaf, "line"), 37);
    cJSON_Delete(whole);
    buf_free(&out);
    cpu_profile_destroy(&world.profile);
}

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;
    while ((text = strstr(text, part))) {
        count++;
        text += strlen(part);
    }
    return count;
}

static void a_flame_graph(void **state)
{
    (void)state;
    struct world world;
    struct buf out = {0};
    open_world(&world, some, more);
    profile_export_svg(world.profile, "a <title>", &out);
    assert_int_equal(occurrences(out.data, "<g><title>"), 5);
    assert_non_null(strstr(out.data, ">a &lt;title&gt;</text>"));
    assert_non_null(strstr(out.data, "inner (app.py:37): 60 samples, 60.0 %, in 1 of 2 processes"));
    /* Below `burn`, the wider branch first: 708 pixels, then 236. */
    assert_non_null(strstr(out.data, "x=\"10.00\" y=\"74\" width=\"708.00\""));
    assert_non_null(strstr(out.data, "x=\"718.00\" y=\"74\" width=\"236.00\""));
    assert_non_null(strstr(out.data, "&lt;lambda&gt; (a&quot;&amp;.py:2)"));
    buf_free(&out);
    cpu_profile_destroy(&world.profile);

    open_world(&world, evil, some);
    profile_export_svg(world.profile, "t", &out);
    assert_int_equal(occurrences(out.data, "<script"), 0);
    assert_int_equal(occurrences(out.data, "\033"), 0);
    assert_non_null(strstr(out.data, "f?[31m&lt;/title&gt;&lt;script&gt;&quot;&amp;'"));
    buf_free(&out);
    cpu_profile_destroy(&world.profile);
}

/* A box too narrow to be seen is left out, and a label ends where its box does. */
static void narrow_boxes(void **state)
{
    (void)state;
    struct world world;
    struct buf out = {0};
    open_world(&world, "wide (a.py:1) 1000000\nnarrow (a.py:2) 100\n",
               "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc (a.py:3) 40000\n");
    profile_export_svg(world.profile, "t", &out);
    assert_int_equal(occurrences(out.data, "<g><title>"), 3);
    assert_null(strstr(out.data, "narrow"));
    assert_non_null(strstr(out.data, ">\xc3\xa4\xc3\xb6\xc3\xbc..</text>"));
    buf_free(&out);
    cpu_profile_destroy(&world.profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table),       cmocka_unit_test(json),
        cmocka_unit_test(folded),        cmocka_unit_test(speedscope),
        cmocka_unit_test(a_flame_graph), cmocka_unit_test(narrow_boxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
