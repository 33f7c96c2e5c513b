/* What raydbg/clusterObjects takes and gives. */
#include "cmocka_prelude.h"
#include "object_sample.h"

#include "relay/sweep/sweep_page.h"

static int read_page(struct objects_page *page, const char *arguments, struct err *err)
{
    return objects_page_read(page, arguments, (struct span){0, strlen(arguments)}, err);
}

static void defaults(void **state)
{
    (void)state;
    static const char *const same[] = {"", "{}", "{\"groupBy\":null,\"count\":null,\"taken\":null}",
                                       "{\"unknown\":1}"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct objects_page page;
        struct err err;
        assert_int_equal(read_page(&page, same[i], &err), 0);
        assert_int_equal(page.group_by, OBJECT_BY_NOTHING);
        assert_int_equal(page.sort_by, OBJECT_SORT_SIZE);
        assert_int_equal(page.start, 0);
        assert_int_equal(page.count, 100);
        assert_int_equal(page.taken_ms, 0);
        assert_null(page.filter);
        assert_false(objects_page_needs_tasks(&page));
        objects_page_clear(&page);
    }
}

static void all_arguments(void **state)
{
    (void)state;
    struct objects_page page;
    struct err err;
    assert_int_equal(read_page(&page,
                               "{\"groupBy\":\"call-site\",\"sortBy\":\"age\",\"filter\":\"f\","
                               "\"task\":\"t\",\"group\":\"g\",\"start\":7,\"count\":5000,"
                               "\"taken\":1700000000.123}",
                               &err),
                     0);
    assert_int_equal(page.group_by, OBJECT_BY_CALL_SITE);
    assert_int_equal(page.sort_by, OBJECT_SORT_AGE);
    assert_string_equal(page.filter, "f");
    assert_string_equal(page.task, "t");
    assert_string_equal(page.group, "g");
    assert_int_equal(page.start, 7);
    assert_int_equal(page.count, 1000); /* at most */
    assert_int_equal(page.taken_ms, INT64_C(1700000000123));
    assert_true(objects_page_needs_tasks(&page));
    objects_page_clear(&page);
}

static void wrong_arguments(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"[]", "object"},
        {"{\"groupBy\":\"moon\"}", "groupBy"},
        {"{\"groupBy\":5}", "groupBy"},
        {"{\"sortBy\":\"moon\"}", "sortBy"},
        {"{\"filter\":1}", "filter"},
        {"{\"task\":{}}", "task"},
        {"{\"group\":true}", "group"},
        {"{\"start\":-1}", "start"},
        {"{\"count\":\"5\"}", "count"},
        {"{\"filter\":\"f\",\"taken\":\"now\"}", "taken"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct objects_page page;
        struct err err;
        assert_int_equal(read_page(&page, wrong[i][0], &err), -1);
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.what, wrong[i][1]));
        objects_page_clear(&page);
    }
}

/* A driver with five objects of 1 to 5 bytes and a worker that borrows the smallest. */
static struct object_sweep *cluster(void)
{
    struct object_sweep *sweep = sample_sweep(1);
    struct ray_worker_objects *driver = sample_process(sweep, 0, 70, RAY_DRIVER);
    struct ray_worker_objects *worker = sample_process(sweep, 0, 80, RAY_WORKER);
    for (unsigned i = 1; i <= 5; i++)
        sample_ref(driver, sample_put("d", i), i, RAY_TASK_FINISHED);
    sample_ref(worker, sample_put("d", 1), -1, RAY_TASK_NIL)->call_site = "w.py:1";
    object_sweep_join(sweep);
    return sweep;
}

/* The body for these arguments, of which `expected` is a part. */
static void check(const char *arguments, const char *const *expected)
{
    struct object_sweep *sweep = cluster();
    struct objects_page page;
    struct buf body = {0};
    struct err err;
    struct scan scan;
    struct span all;
    assert_int_equal(read_page(&page, arguments, &err), 0);
    struct sweep_query query = {.group_by = page.group_by, .sort_by = page.sort_by};
    struct object_report *report = sweep_query_run(&query, sweep);
    objects_page_write(&page, sweep, report, &body);
    scan_init(&scan, body.data, body.len);
    assert_true(scan_value(&scan, &all) && scan_end(&scan));
    for (; *expected; expected++)
        if (!strstr(body.data, *expected))
            fail_msg("%s: no %s in %s", arguments, *expected, body.data);
    buf_free(&body);
    object_report_free(&report);
    objects_page_clear(&page);
    object_sweep_free(&sweep);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void rows_are_paged(void **state)
{
    (void)state;
    check("{\"count\":1}",
          PARTS("{\"taken\":1700000000.123,\"bytes\":15,\"objects\":5,\"references\":6,\"start\":0",
                "\"total\":6,\"groups\":[{\"key\":\"all\",\"bytes\":15,\"objects\":5,"
                "\"references\":6,\"unknownSizes\":0,\"byReference\":{\"LOCAL_REFERENCE\":"
                "{\"references\":6,\"bytes\":15}}}],\"rows\":[{\"objectRef\":\"00ff",
                "05e1f505\",\"referenceType\":\"LOCAL_REFERENCE\",\"size\":5,\"callSite\":null,"
                "\"taskStatus\":\"FINISHED\"",
                "\"copies\":null,\"spilled\":null,\"process\":{\"pid\":70,\"driver\":true",
                "\"actorName\":null},\"owner\":{\"pid\":70"));
    check("{\"start\":5,\"count\":9}",
          PARTS("\"start\":5", "\"total\":6", "\"callSite\":\"w.py:1\"",
                "\"size\":1,\"callSite\":\"w.py:1\",\"taskStatus\":null",
                "\"process\":{\"pid\":80"));
    check("{\"start\":6}", PARTS("\"total\":6", "\"rows\":[]}"));
    check("{\"count\":0}", PARTS("\"total\":6", "\"rows\":[]}"));
}

static void groups_are_paged(void **state)
{
    (void)state;
    check("{\"groupBy\":\"call-site\"}",
          PARTS("\"total\":2,\"groups\":[{\"key\":\"disabled\",\"bytes\":15,",
                "{\"key\":\"w.py:1\"", "\"rows\":[]}"));
    check("{\"groupBy\":\"call-site\",\"start\":1}",
          PARTS("\"total\":2,\"groups\":[{\"key\":\"w.py:1\""));
    check("{\"groupBy\":\"call-site\",\"start\":2}", PARTS("\"total\":2,\"groups\":[]"));
    check("{\"groupBy\":\"call-site\",\"group\":\"w.py:1\"}",
          PARTS("\"total\":1,\"groups\":[{\"key\":\"w.py:1\"", "\"rows\":[{\"objectRef\""));
    check("{\"groupBy\":\"call-site\",\"group\":\"no such\"}",
          PARTS("\"total\":0,\"groups\":[],\"rows\":[]}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),         cmocka_unit_test(all_arguments),
        cmocka_unit_test(wrong_arguments),  cmocka_unit_test(rows_are_paged),
        cmocka_unit_test(groups_are_paged),
    };
    return cmocka_run_group_tests_name("cluster_objects_page", tests, NULL, NULL);
}
