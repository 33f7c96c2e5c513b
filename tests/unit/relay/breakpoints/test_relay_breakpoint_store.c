/* A relay's breakpoints by file: numbers, one for each line, and what the next relay reads. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/breakpoints/breakpoint_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static int setup(void **state)
{
    (void)state;
    static char directory[] = "/tmp/raydbg-store-XXXXXX";
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/b.json", directory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0); /* nothing else is left there */
    return 0;
}

static int64_t add_of_run(struct breakpoint_store *store, const char *run, const char *file,
                          int64_t line, const char *condition)
{
    struct err err;
    struct file_breakpoint one = {.file = mem_string(file),
                                  .line = line,
                                  .condition = mem_string(condition),
                                  .run = mem_string(run),
                                  .rank = -1};
    assert_int_equal(breakpoint_store_add(store, &one, &err), 0);
    return one.id;
}

static int64_t add(struct breakpoint_store *store, const char *file, int64_t line,
                   const char *condition)
{
    return add_of_run(store, NULL, file, line, condition);
}

static void expect(const struct breakpoint_store *store, size_t i, int64_t id, const char *file,
                   int64_t line)
{
    const struct file_breakpoint *one = breakpoint_store_at(store, i);
    assert_non_null(one);
    assert_int_equal(one->id, id);
    assert_string_equal(one->file, file);
    assert_int_equal(one->line, line);
}

static void the_next_relay_has_them(void **state)
{
    (void)state;
    struct stat file;
    struct breakpoint_store *store = breakpoint_store_create(path);
    assert_null(breakpoint_store_at(store, 0));
    assert_int_equal(add(store, "/a.py", 1, "x"), 1);
    assert_int_equal(add(store, "/a.py", 2, NULL), 2);
    assert_int_equal(add(store, "/b.py", 1, NULL), 3);
    assert_int_equal(add(store, "/a.py", 1, "y"), 4); /* in place of the first */
    assert_true(breakpoint_store_remove(store, 3));
    assert_false(breakpoint_store_remove(store, 3));
    breakpoint_store_note_problem(store, 4, "NameError");
    breakpoint_store_destroy(&store);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    store = breakpoint_store_create(path);
    expect(store, 0, 2, "/a.py", 2);
    expect(store, 1, 4, "/a.py", 1);
    assert_string_equal(breakpoint_store_at(store, 1)->condition, "y");
    assert_null(breakpoint_store_at(store, 1)->problem);
    assert_null(breakpoint_store_at(store, 2));
    assert_int_equal(add(store, "/c.py", 1, NULL), 5); /* no number twice while one is there */
    breakpoint_store_destroy(&store);
}

static void what_is_no_list_is_left_out(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "{", "{}", "[{}]", "[{\"file\":\"/a\",\"line\":1}]", "\"x\"", "[] x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FILE *file = fopen(path, "w");
        fputs(texts[i], file);
        fclose(file);
        struct breakpoint_store *store = breakpoint_store_create(path);
        assert_null(breakpoint_store_at(store, 0));
        breakpoint_store_destroy(&store);
    }
}

static void note_file(void *arg, const char *file)
{
    buf_printf(arg, "%s ", file);
}

static void each_file_is_set_once(void **state)
{
    (void)state;
    const struct breakpoint_node anywhere = {0};
    struct buf files = {0}, dap = {0};
    struct breakpoint_store *store = breakpoint_store_create(NULL);
    add(store, "/a.py", 1, NULL);
    add(store, "/b \"c\".py", 4, NULL);
    add(store, "/a.py", 3, NULL);
    breakpoint_store_each_file(store, note_file, &files);
    assert_string_equal(files.data, "/a.py /b \"c\".py ");
    breakpoint_store_dap(store, "/a.py", &anywhere, "", &dap);
    assert_string_equal(dap.data, "{\"line\":1},{\"line\":3}");
    buf_clear(&dap, 0);
    breakpoint_store_dap(store, "/b \"c\".py", &anywhere, "", &dap);
    assert_string_equal(dap.data, "{\"line\":4}");
    buf_clear(&dap, 0);
    breakpoint_store_dap(store, "/other.py", &anywhere, "", &dap);
    assert_int_equal(dap.len, 0);
    buf_free(&files);
    buf_free(&dap);
    breakpoint_store_destroy(&store);
}

/* The ids in the conditions of what a process of this run gets, as it would name them in check().
 */
static void expect_in(const struct breakpoint_store *store, const char *run, const char *ids)
{
    const struct breakpoint_node anywhere = {0};
    struct buf dap = {0}, found = {0};
    buf_add_string(&dap, "");
    breakpoint_store_dap(store, "/a.py", &anywhere, run, &dap);
    for (const char *at = dap.data; (at = strstr(at, "check(")); at++)
        buf_printf(&found, "%d ", atoi(at + strlen("check(")));
    buf_add_string(&found, "");
    assert_string_equal(found.data, ids);
    buf_free(&found);
    buf_free(&dap);
}

static void a_run_has_only_its_own(void **state)
{
    const struct breakpoint_node anywhere = {0};
    (void)state;
    unlink(path);
    struct breakpoint_store *store = breakpoint_store_create(path);
    add_of_run(store, "A", "/a.py", 1, "x"); /* 1 */
    add_of_run(store, "B", "/a.py", 1, "y"); /* 2 */
    add_of_run(store, "B", "/a.py", 2, "y"); /* 3 */
    expect_in(store, "A", "1 ");
    expect_in(store, "B", "2 3 ");
    expect_in(store, "C", "");
    expect_in(store, "", "2 3 ");
    assert_int_equal(add(store, "/a.py", 1, "z"), 4);
    expect_in(store, "A", "4 ");
    expect_in(store, "C", "4 ");
    assert_int_equal(add_of_run(store, "A", "/a.py", 1, "again"), 5);
    assert_null(breakpoint_store_find(store, 1));
    breakpoint_store_destroy(&store);
    store = breakpoint_store_create(path);
    expect_in(store, "A", "5 ");
    expect_in(store, "B", "3 4 ");
    expect_in(store, "", "3 5 ");
    assert_true(breakpoint_store_remove(store, 4));
    expect_in(store, "B", "2 3 ");
    assert_true(breakpoint_store_remove(store, 5));
    expect_in(store, "A", "");
    assert_false(breakpoint_store_reaches(store, &anywhere, "A"));
    assert_true(breakpoint_store_has(store, "/a.py", 2, &anywhere, "B"));
    assert_false(breakpoint_store_has(store, "/a.py", 2, &anywhere, "C"));
    breakpoint_store_destroy(&store);
}

static void the_last_hit_is_remembered(void **state)
{
    (void)state;
    struct err err;
    bool spent;
    const struct breakpoint_node anywhere = {0};
    struct buf dap = {0};
    unlink(path);
    struct breakpoint_store *store = breakpoint_store_create(path);
    struct file_breakpoint one = {.file = mem_string("/a.py"), .line = 1, .rank = -1, .hit = 2};
    assert_int_equal(breakpoint_store_add(store, &one, &err), 0);
    add(store, "/a.py", 2, NULL);
    assert_null(breakpoint_store_count(store, 1, &spent));
    assert_false(spent);
    assert_non_null(breakpoint_store_count(store, 1, &spent));
    assert_true(spent);
    assert_null(breakpoint_store_count(store, 1, &spent));
    assert_false(spent);
    assert_null(breakpoint_store_count(store, 7, &spent));
    breakpoint_store_destroy(&store);
    store = breakpoint_store_create(path);
    assert_true(breakpoint_store_reaches(store, &anywhere, ""));
    breakpoint_store_dap(store, "/a.py", &anywhere, "", &dap);
    assert_string_equal(dap.data, "{\"line\":2}");
    assert_true(breakpoint_store_remove(store, 2));
    assert_false(breakpoint_store_reaches(store, &anywhere, ""));
    buf_free(&dap);
    breakpoint_store_destroy(&store);
}

static void there_is_a_limit(void **state)
{
    (void)state;
    struct err err;
    struct breakpoint_store *store = breakpoint_store_create(NULL);
    for (int i = 1; i <= BREAKPOINT_STORE_MOST; i++)
        add(store, "/a.py", i, NULL);
    struct file_breakpoint more = {.file = mem_string("/a.py"), .line = 5000};
    assert_int_equal(breakpoint_store_add(store, &more, &err), -1);
    file_breakpoint_clear(&more);
    add(store, "/a.py", 7, NULL); /* one at a line that has one already */
    breakpoint_store_destroy(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_relay_has_them), cmocka_unit_test(what_is_no_list_is_left_out),
        cmocka_unit_test(each_file_is_set_once),   cmocka_unit_test(the_last_hit_is_remembered),
        cmocka_unit_test(there_is_a_limit),        cmocka_unit_test(a_run_has_only_its_own),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
