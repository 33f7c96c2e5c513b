/* A client's paths and the worker's. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "dap/path_map.h"

#include <stdlib.h>
#include <string.h>

static struct path_map *read(const char *json, bool *relative)
{
    return path_map_read(json, (struct span){0, strlen(json)}, relative);
}

static void check(const struct path_map *map, const char *local, const char *remote)
{
    char *there = path_map_to_worker(map, local), *here = path_map_to_client(map, remote);
    assert_true(text_equal(there, remote));
    assert_true(text_equal(here, local));
    free(there);
    free(here);
}

static void check_none(const struct path_map *map, const char *path)
{
    assert_null(path_map_to_worker(map, path));
    assert_null(path_map_to_client(map, path));
}

#define MAP(local, remote) "{\"localRoot\":\"" local "\",\"remoteRoot\":\"" remote "\"}"

static void paths_below_a_root(void **state)
{
    (void)state;
    bool relative;
    struct path_map *map =
        read("{\"pathMappings\":[" MAP("/home/me/app", "/srv/app/") "," MAP("/x/", "/y") "]}",
             &relative);
    check(map, "/home/me/app/a.py", "/srv/app/a.py");
    check(map, "/home/me/app", "/srv/app");
    check(map, "/x/b/c.py", "/y/b/c.py");
    check_none(map, "/home/me/apple/a.py");
    check_none(map, "/srv/application.py");
    check_none(map, "<string>");
    check_none(map, "");
    assert_false(relative);
    path_map_destroy(&map);
    assert_null(map);
    check_none(NULL, "/x");
}

static void the_first_mapping_counts(void **state)
{
    (void)state;
    bool relative;
    struct path_map *map = read(
        "{\"pathMappings\":[" MAP("/a/b", "/one") "," MAP("/a", "/two") "," MAP("/c", "/one") "]}",
        &relative);
    check(map, "/a/b/x", "/one/x");
    check(map, "/a/c/x", "/two/c/x");
    path_map_destroy(&map);
    map = read("{\"pathMappings\":[" MAP("/w", "/app") "," MAP("/lib-src", "/app/lib") "]}",
               &relative);
    check(map, "/w/lib/x.py", "/app/lib/x.py"); /* not the closest root */
    path_map_destroy(&map);
}

static void the_top(void **state)
{
    (void)state;
    bool relative;
    struct path_map *map = read("{\"pathMappings\":[" MAP("/mnt/host", "/") "]}", &relative);
    check(map, "/mnt/host/a/b.py", "/a/b.py");
    check(map, "/mnt/host", "/");
    path_map_destroy(&map);
}

static void a_client_on_windows(void **state)
{
    (void)state;
    bool relative;
    struct path_map *map =
        read("{\"clientOS\":\"windows\",\"pathMappings\":[" MAP("C:\\\\Code\\\\", "/srv") "]}",
             &relative);
    check(map, "C:\\Code\\pkg\\a.py", "/srv/pkg/a.py");
    char *path = path_map_to_worker(map, "c:/CODE/pkg\\A.py");
    assert_string_equal(path, "/srv/pkg/A.py");
    free(path);
    path_map_destroy(&map);
}

static void what_maps_nothing(void **state)
{
    (void)state;
    static const char *const none[] = {
        "",
        "{}",
        "{\"pathMappings\":[]}",
        "{\"pathMappings\":null}",
        "{\"pathMappings\":[{}]}",
        "{\"pathMappings\":[" MAP("", "/x") "," MAP("/x", "") "]}",
    };
    bool relative;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_null(read(none[i], &relative));
        assert_false(relative);
    }
    assert_null(read("{\"pathMappings\":[" MAP("/x", ".") "]}", &relative));
    assert_true(relative);
}

static void equal_maps(void **state)
{
    (void)state;
    bool relative;
    struct path_map *one = read("{\"pathMappings\":[" MAP("/a", "/b") "]}", &relative);
    struct path_map *same = read("{\"pathMappings\" : [" MAP("/a/", "/b/") "]}", &relative);
    struct path_map *other = read("{\"pathMappings\":[" MAP("/a", "/c") "]}", &relative);
    assert_true(path_map_equal(one, same));
    assert_true(path_map_equal(NULL, NULL));
    assert_false(path_map_equal(one, other));
    assert_false(path_map_equal(one, NULL));
    assert_false(path_map_equal(NULL, one));
    path_map_destroy(&one);
    path_map_destroy(&same);
    path_map_destroy(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_below_a_root),
        cmocka_unit_test(the_first_mapping_counts),
        cmocka_unit_test(the_top),
        cmocka_unit_test(a_client_on_windows),
        cmocka_unit_test(what_maps_nothing),
        cmocka_unit_test(equal_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
