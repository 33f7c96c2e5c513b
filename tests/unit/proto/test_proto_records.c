/* Versions, and freeing records. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "proto/records.h"

static void check_version(const char *text, int major, int minor, int patch)
{
    struct ray_version version;
    assert_true(ray_version_parse(text, &version));
    assert_int_equal(version.major, major);
    assert_int_equal(version.minor, minor);
    assert_int_equal(version.patch, patch);
}

static void parses_versions(void **state)
{
    (void)state;
    check_version("2.60.0", 2, 60, 0);
    check_version("2.9.3", 2, 9, 3);
    check_version("3.0.0.dev0", 3, 0, 0);
    check_version("2.50.0rc1", 2, 50, 0);
    check_version("2.50", 2, 50, 0);
    check_version("2.50.dev0", 2, 50, 0);
    check_version("2.7.0+abc", 2, 7, 0);
}

static void refuses_what_is_no_version(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "2",      "2.",          "two.three", ".60.0",
                                      "-2.60.0", "2.-1.0", "9999999.1.0", " 2.60.0"};
    struct ray_version version = {1, 1, 1};
    assert_false(ray_version_parse(NULL, &version));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        version = (struct ray_version){1, 1, 1};
        assert_false(ray_version_parse(bad[i], &version));
        assert_int_equal(version.major + version.minor + version.patch, 0);
    }
}

static void compares_versions(void **state)
{
    (void)state;
    struct ray_version version = {2, 40, 1};
    assert_int_equal(ray_version_compare(version, 2, 40, 1), 0);
    assert_true(ray_version_compare(version, 2, 40, 0) > 0);
    assert_true(ray_version_compare(version, 2, 40, 2) < 0);
    assert_true(ray_version_compare(version, 2, 9, 9) > 0); /* not as text */
    assert_true(ray_version_compare(version, 2, 41, 0) < 0);
    assert_true(ray_version_compare(version, 3, 0, 0) < 0);
    assert_true(ray_version_compare(version, 1, 99, 9) > 0);
}

/* Under AddressSanitizer this also shows that every string is freed. */
static void frees_records(void **state)
{
    (void)state;
    ray_workers_free(NULL, 3);
    ray_tasks_free(NULL, 3);
    ray_actors_free(NULL, 3);
    ray_nodes_free(NULL, 3);
    ray_jobs_free(NULL, 3);
    ray_pdbs_free(NULL, 3);
    ray_worker_stats_clear(NULL);

    struct ray_worker *workers = mem_array(2, sizeof *workers);
    workers[0].ip = mem_string("10.0.0.7");
    workers[1].exit_type = mem_string("SYSTEM_ERROR");
    workers[1].exit_detail = mem_string("killed");
    ray_workers_free(workers, 2);

    struct ray_pdb *pdbs = mem_array(1, sizeof *pdbs);
    pdbs->address = mem_string("localhost:1");
    pdbs->proctitle = mem_string("ray::f");
    pdbs->file = mem_string("f.py");
    pdbs->traceback = mem_string("");
    ray_pdbs_free(pdbs, 1);

    struct ray_worker_stats stats = {.running_task_id_count = 1};
    stats.running_task_ids = mem_array(1, sizeof *stats.running_task_ids);
    ray_worker_stats_clear(&stats);
    assert_null(stats.running_task_ids);
    assert_int_equal(stats.running_task_id_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_versions),
        cmocka_unit_test(refuses_what_is_no_version),
        cmocka_unit_test(compares_versions),
        cmocka_unit_test(frees_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
