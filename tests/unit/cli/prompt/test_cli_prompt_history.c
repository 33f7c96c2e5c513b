/* The file of the console's history: who may read it, and what several consoles leave there. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "cli/prompt/prompt_history.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64], path[128];

static int set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/raydbg-history-XXXXXX");
    if (!mkdtemp(directory) || setenv("XDG_STATE_HOME", directory, 1) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/raydbg/history", directory);
    return 0;
}

static int tear_down(void **state)
{
    char *parent = mem_format("%s/raydbg", directory);
    (void)state;
    unlink(path);
    rmdir(parent);
    free(parent);
    return rmdir(directory);
}

static mode_t mode(void)
{
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    return file.st_mode & 0777;
}

static void check_lines(const char *expected)
{
    char text[256];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static void nobody_else_may_read_it(void **state)
{
    (void)state;
    struct history_file *file = history_file_open();
    assert_int_equal(mode(), 0600);
    history_file_close(&file);
    assert_int_equal(chmod(path, 0644), 0); /* of an earlier version, or copied */
    file = history_file_open();
    assert_int_equal(mode(), 0600);
    history_file_close(&file);
}

static void several_consoles_share_it(void **state)
{
    (void)state;
    struct history_file *first = history_file_open(), *second = history_file_open();
    history_file_add(first, "where");
    history_file_add(second, "p x");
    history_file_add(second, "p x");
    history_file_add(second, " p secret");
    history_file_add(second, "");
    history_file_add(first, "for i in x:\n    i");
    history_file_close(&first);
    history_file_close(&second);
    check_lines("where\np x\nfor i in x:\x1e    i\n");
}

static void it_does_not_grow_for_ever(void **state)
{
    enum { LINES = 2100, KEPT = 1000 };
    char last[32];
    size_t count = 0;
    (void)state;
    struct history_file *file = history_file_open();
    for (int i = 0; i < LINES; i++) {
        snprintf(last, sizeof last, "p %d", i);
        history_file_add(file, last);
    }
    history_file_close(&file);
    file = history_file_open();
    history_file_add(file, "quit");
    history_file_close(&file);
    FILE *stream = fopen(path, "re");
    assert_non_null(stream);
    while (fgets(last, sizeof last, stream))
        count++;
    fclose(stream);
    assert_int_equal(count, KEPT + 1);
    assert_string_equal(last, "quit\n");
    assert_int_equal(mode(), 0600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_else_may_read_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_consoles_share_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_does_not_grow_for_ever, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("prompt_history", tests, NULL, NULL);
}
