/* `raydbg memory` for programs: JSON, YAML, CSV, and how fast. */
#include "cmocka_prelude.h"
#include "memory_sample.h"

#include "cli/memory/memory_export.h"
#include "relay/sweep/sweep_json.h"

#include <cjson/cJSON.h>
#include <time.h>

/* Their indices, the largest first. */
static void check_rows_of_group(const cJSON *root, const cJSON *group)
{
    const cJSON *all = cJSON_GetObjectItem(root, "rows"),
                *rows = cJSON_GetObjectItem(group, "rows");
    double last = 1e18, sum = 0;
    for (const cJSON *at = rows->child; at; at = at->next) {
        const cJSON *row = cJSON_GetArrayItem(all, at->valueint);
        assert_non_null(row);
        const cJSON *size = cJSON_GetObjectItem(row, "size");
        double bytes = cJSON_IsNumber(size) && size->valuedouble > 0 ? size->valuedouble : 0;
        assert_true(bytes <= last);
        last = bytes;
        sum += bytes;
    }
    assert_int_equal(cJSON_GetArraySize(rows), 4);
    assert_true(sum == 6 * MEGA);
}

static void json_reads_back_and_has_groups(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    struct sweep_query query = {.group_by = OBJECT_BY_NODE, .filter = "train.py"};
    struct object_report *report = sweep_query_run(&query, sweep);
    struct buf out = {0};
    struct err err;
    memory_json(report, sweep, &query, &out);
    cJSON *root = cJSON_Parse(out.data);
    assert_non_null(root);
    const cJSON *groups = cJSON_GetObjectItem(root, "groups");
    assert_int_equal(cJSON_GetArraySize(groups), 1);
    assert_string_equal(cJSON_GetObjectItem(groups->child, "key")->valuestring,
                        "10.0.0.1 (node-1)");
    assert_int_equal(cJSON_GetObjectItem(groups->child, "bytes")->valuedouble, 6 * MEGA);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "rows")), 4);
    check_rows_of_group(root, groups->child);
    cJSON_Delete(root);
    struct object_sweep *read = sweep_json_read(out.data, out.len, &err);
    if (!read)
        fail_msg("%s: %s", err.what, err.why);
    assert_int_equal(read->row_count, 4);
    object_sweep_free(&read);
    buf_free(&out);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void stats_have_no_rows(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    struct buf out = {0};
    memory_stats_json(sweep, &out);
    cJSON *root = cJSON_Parse(out.data);
    assert_non_null(root);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "nodes")), 2);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "rows")), 0);
    cJSON_Delete(root);
    buf_free(&out);
    memory_stats_csv(sweep, &out);
    assert_non_null(strstr(out.data, "\n10.0.0.1,node-1,true,6000000,100000000,6000000,0,3,3,"
                                     "4000000,2,2.000,0,0,0.000,0,0,false\n"));
    buf_free(&out);
    object_sweep_free(&sweep);
    sweep = silent_sample();
    memory_stats_csv(sweep, &out);
    size_t commas[2] = {0}, line = 0;
    for (const char *at = out.data; *at && line < 2; at++) {
        commas[line] += *at == ',';
        line += *at == '\n';
    }
    assert_int_equal(commas[0], commas[1]);
    buf_free(&out);
    object_sweep_free(&sweep);
}

static void csv_has_all(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    struct sweep_query query = {.group_by = OBJECT_BY_ACTOR, .filter = "e5e5e5"};
    struct object_report *report = sweep_query_run(&query, sweep);
    struct buf out = {0};
    memory_csv(report, sweep, &query, &out);
    assert_string_equal(
        out.data,
        "group,node_ip,node,pid,type,job_id,actor_class,actor_name,object_ref,size,reference_type,"
        "call_site,task_status,attempt,local_refs,pinned,submitted_refs,contained_in,owner_pid,"
        "owner_node,task_id,task_name,copies,where,held_by_no_variable\n"
        "Trainer " ACTOR_ID("e5") ",10.0.0.2,node-2,60,Worker,01000000,Trainer,," TASK_ID(
            "e5") "01e1f505,5000000,LOCAL_REFERENCE,(put object)  | /app/load.py:keep:7,FINISHED,1,"
                  "1,false,0,0,60,node-2," TASK_ID("e5") ",,,,\"only actors: their state, or a "
                                                         "method that runs\"\n");
    buf_free(&out);
    query = (struct sweep_query){.filter = "SUBMITTED_TO", .group_by = OBJECT_BY_NOTHING};
    object_report_free(&report);
    report = sweep_query_run(&(struct sweep_query){.filter = "c3c3c3"}, sweep);
    memory_csv(report, sweep, &query, &out);
    assert_non_null(strstr(out.data, "\n,10.0.0.1,node-1,70,Driver,01000000,,," TASK_ID(
                                         "c3") "01000000,,LOCAL_REFERENCE,"));
    buf_free(&out);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void check_csv(const char *text, const char *expected)
{
    struct buf out = {0};
    buf_add_string(&out, "");
    memory_csv_text(text, &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void csv_is_quoted_where_needed(void **state)
{
    (void)state;
    check_csv("", "");
    check_csv("plain", "plain");
    check_csv("a,b", "\"a,b\"");
    check_csv("say \"x\"", "\"say \"\"x\"\"\"");
    check_csv("\"", "\"\"\"\"");
    check_csv("two\nlines", "\"two\nlines\"");
    check_csv(" x", "\" x\"");
}

static void check_yaml(const char *json, const char *expected)
{
    struct buf out = {0};
    buf_add_string(&out, "");
    memory_yaml(json, strlen(json), &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void yaml_says_the_same(void **state)
{
    (void)state;
    check_yaml("{\"a\": 1, \"b\": [], \"c\": {}, \"d\": null}",
               "\"a\": 1\n\"b\": []\n\"c\": {}\n\"d\": null\n");
    check_yaml("{\"a\": [1, \"x: y\"], \"b\": {\"c\": [{\"d\": 1, \"e\": [2]}, {\"f\": {}}]}}",
               "\"a\":\n  - 1\n  - \"x: y\"\n\"b\":\n  \"c\":\n    - \"d\": 1\n      \"e\":\n"
               "        - 2\n    - \"f\": {}\n");
    check_yaml("[[1, 2], {\"a\": true}]", "-\n  - 1\n  - 2\n- \"a\": true\n");
    check_yaml("[1, ", "");
}

/* --- many rows --- */

enum { MANY = 200000, OBJECTS_OF_A_TASK = 10 };

static struct object_sweep *many(void)
{
    static char sites[50][64];
    struct object_sweep *sweep = sample_sweep(8);
    for (size_t i = 0; i < 50; i++)
        snprintf(sites[i], sizeof sites[i], "(put object)  | /app/module_%zu.py:function:%zu", i,
                 i);
    for (size_t p = 0; p < 100; p++) {
        struct ray_worker_objects *worker =
            sample_process(sweep, p % 8, (int64_t)p + 1, RAY_WORKER);
        worker->ref_count = MANY / 100;
        worker->refs = mem_array(worker->ref_count, sizeof *worker->refs);
        for (size_t i = 0; i < worker->ref_count; i++) {
            struct object_id id = sample_id("aa", (unsigned)(i % OBJECTS_OF_A_TASK) + PUT);
            uint64_t task = p * 1000 + i / OBJECTS_OF_A_TASK;
            memcpy(id.bytes, &task, sizeof task);
            worker->refs[i] = (struct ray_object_ref){.id = id,
                                                      .size = 1000,
                                                      .local = 1,
                                                      .status = RAY_TASK_FINISHED,
                                                      .call_site = sites[i % 50]};
        }
    }
    object_sweep_join(sweep);
    return sweep;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Processor time: a second under a sanitizer; what is quadratic takes minutes. */
static void many_rows_take_no_time(void **state)
{
    (void)state;
    struct object_sweep *sweep = many();
    struct sweep_query query = {.group_by = OBJECT_BY_CALL_SITE};
    struct memory_style style = {.width = 200};
    struct buf out = {0};
    struct memory_sites lines;
    assert_int_equal(sweep->row_count, MANY);
    double begin = seconds();
    struct object_report *report = sweep_query_run(&query, sweep);
    double grouped = seconds();
    memory_csv(report, sweep, &query, &out);
    buf_clear(&out, 0);
    double csv = seconds();
    memory_json(report, sweep, &query, &out);
    double json = seconds();
    memory_sites_make(&lines, sweep, report, OBJECT_SORT_SIZE);
    memory_print_lines(&lines, sweep, &style, 20, &out);
    memory_print_totals(report, sweep, &style, true, &out);
    double table = seconds();
    print_message("200,000 rows: query %.3f s, CSV %.3f s, JSON %.3f s, lines %.3f s\n",
                  grouped - begin, csv - grouped, json - csv, table - json);
    assert_true(csv - grouped < 20 && json - csv < 20 && table - json < 20);
    assert_int_equal(lines.count, 100 * 50);
    memory_sites_clear(&lines);
    object_report_free(&report);
    buf_free(&out);
    object_sweep_free(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_reads_back_and_has_groups),
        cmocka_unit_test(stats_have_no_rows),
        cmocka_unit_test(csv_has_all),
        cmocka_unit_test(csv_is_quoted_where_needed),
        cmocka_unit_test(yaml_says_the_same),
        cmocka_unit_test(many_rows_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
