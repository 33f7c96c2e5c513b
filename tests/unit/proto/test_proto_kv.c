/* The GCS's key-value store: the version, and the legacy debugger's entries. */
#include "recorded.h"

#include "base/mem.h"
#include "proto/reply.h"

#include <stdlib.h>
#include <string.h>

static struct err err;

static void decodes_the_version(void **state)
{
    (void)state;
    static const char *const names[] = {"2.44.1-metadata", "2.60.0-metadata"};
    static const char *const texts[] = {"2.44.1", "2.60.0"};
    for (size_t i = 0; i < 2; i++) {
        struct buf bytes = load(names[i]);
        char *json, *ray, *python;
        size_t len;
        struct ray_version version = {0};
        assert_int_equal(reply_kv_get(BYTES(bytes), &json, &len, &err), 0);
        assert_non_null(json);
        assert_int_equal(reply_version(json, len, &version, &ray, &python, &err), 0);
        assert_string_equal(ray, texts[i]);
        assert_string_equal(python, "3.11.7");
        assert_int_equal(version.minor, i ? 60 : 44);
        free(json);
        free(ray);
        free(python);
        buf_free(&bytes);
    }
}

static void a_missing_key_is_no_error(void **state)
{
    (void)state;
    struct buf bytes = load("2.60.0-nokey");
    char *value;
    size_t len;
    assert_int_equal(reply_kv_get(BYTES(bytes), &value, &len, &err), 0);
    assert_null(value);
    buf_free(&bytes);
}

static void refuses_bad_metadata(void **state)
{
    (void)state;
    char *ray = NULL, *python = NULL;
    struct ray_version version = {0};
    assert_int_equal(reply_version("[1]", 3, &version, &ray, &python, &err), -1);
    assert_int_equal(reply_version("{\"ray", 5, &version, &ray, &python, &err), -1);
    assert_null(ray);
    assert_int_equal(reply_version("{\"ray_version\":2}", 17, &version, &ray, &python, &err), 0);
    assert_string_equal(ray, "");
    assert_int_equal(version.major, 0);
    free(ray);
    free(python);
}

static void decodes_a_pdb_entry(void **state)
{
    (void)state;
    struct buf bytes = load("2.9.3-pdb-entry");
    char *json;
    size_t len;
    struct ray_pdb pdb;
    assert_int_equal(reply_kv_get(BYTES(bytes), &json, &len, &err), 0);
    assert_int_equal(reply_pdb(json, len, &pdb, &err), 0);
    assert_string_equal(pdb.job_id, "01000000");
    assert_string_equal(pdb.task_id, "");
    assert_string_equal(pdb.address, "localhost:36571");
    assert_string_equal(pdb.proctitle, "ray::Trainer.step");
    assert_string_equal(pdb.file, "/tmp/pchk/driver.py");
    assert_int_equal(pdb.line, 12);
    assert_int_equal(pdb.since_ms, 1795234910746);
    struct ray_pdb *array = mem_alloc(sizeof *array);
    *array = pdb;
    ray_pdbs_free(array, 1);
    free(json);
    buf_free(&bytes);
}

static void odd_pdb_entries(void **state)
{
    (void)state;
    static const char json[] = "{\"actor_id\":null,\"task_id\":\"abc\",\"worker_id\":17,"
                               "\"job_id\":\"0A0000FF\",\"lineno\":-3,\"timestamp\":1e300,"
                               "\"filename\":[]}";
    struct ray_pdb pdb;
    assert_int_equal(reply_pdb(json, strlen(json), &pdb, &err), 0);
    assert_string_equal(pdb.task_id, "");
    assert_string_equal(pdb.actor_id, "");
    assert_string_equal(pdb.worker_id, "");
    assert_string_equal(pdb.job_id, "0a0000ff");
    assert_string_equal(pdb.file, "");
    assert_string_equal(pdb.address, "");
    assert_int_equal(pdb.line, 0);
    assert_int_equal(pdb.since_ms, 0);
    struct ray_pdb *array = mem_alloc(sizeof *array);
    *array = pdb;
    ray_pdbs_free(array, 1);
    assert_int_equal(reply_pdb("", 0, &pdb, NULL), -1);
    assert_int_equal(reply_pdb("null", 4, &pdb, NULL), -1);
}

static void decodes_pdb_keys(void **state)
{
    (void)state;
    struct buf bytes = load("2.9.3-pdb-keys");
    char **keys, uuid[33];
    size_t count;
    assert_int_equal(reply_kv_keys(BYTES(bytes), &keys, &count, &err), 0);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++) {
        assert_true(kv_parse_pdb_key(keys[i], uuid));
        free(keys[i]);
    }
    free(keys);
    buf_free(&bytes);
    assert_true(kv_parse_pdb_key("RAY_PDB_6c04c7ab7ad94341910160c957088d1b", uuid));
    assert_string_equal(uuid, "6c04c7ab7ad94341910160c957088d1b");
    assert_false(kv_parse_pdb_key("RAY_PDB_CONTINUE_6c04c7ab7ad94341910160c957088d1b", uuid));
    assert_false(kv_parse_pdb_key("RAY_PDB_6c04", uuid));
    assert_false(kv_parse_pdb_key("RAY_PDB_", uuid));
    assert_false(kv_parse_pdb_key("", uuid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_the_version),  cmocka_unit_test(a_missing_key_is_no_error),
        cmocka_unit_test(refuses_bad_metadata), cmocka_unit_test(decodes_a_pdb_entry),
        cmocka_unit_test(odd_pdb_entries),      cmocka_unit_test(decodes_pdb_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
