/* A file that is replaced as a whole: the older one stays until the newer is complete. */
#include "cmocka_prelude.h"

#include "base/file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static int setup(void **state)
{
    (void)state;
    strcpy(path, "/tmp/raydbg-file-XXXXXX");
    assert_non_null(mkdtemp(path));
    strcat(path, "/f");
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

static int replace(const char *text)
{
    struct buf bytes = {0};
    buf_add_string(&bytes, text);
    int result = file_replace(path, &bytes);
    int code = errno;
    buf_free(&bytes);
    errno = code;
    return result;
}

static void assert_content(const char *expected)
{
    char text[64] = {0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    (void)!fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_string_equal(text, expected);
}

static void one_is_made_for_its_owner_alone(void **state)
{
    (void)state;
    assert_int_equal(replace("first\n"), 0);
    assert_content("first\n");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void a_shorter_one_takes_its_place(void **state)
{
    (void)state;
    assert_int_equal(replace("a longer one"), 0);
    assert_int_equal(replace("short"), 0);
    assert_content("short");
}

/* A process of this number that died left it; a link in its place leads nowhere. */
static void what_a_dead_process_left_is_no_obstacle(void **state)
{
    (void)state;
    char fresh[96];
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    assert_int_equal(symlink("/tmp/raydbg-file-elsewhere", fresh), 0);
    assert_int_equal(replace("here"), 0);
    assert_content("here");
    assert_int_equal(access("/tmp/raydbg-file-elsewhere", F_OK), -1);
}

static void a_directory_in_its_place_is_told(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(replace("text"), -1);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(rmdir(path), 0);
}

static void a_directory_that_is_not_there(void **state)
{
    (void)state;
    char kept[sizeof path];
    strcpy(kept, path);
    strcpy(path, "/tmp/raydbg-file-none/f");
    int result = replace("text"), code = errno;
    strcpy(path, kept);
    assert_int_equal(result, -1);
    assert_int_equal(code, ENOENT);
}

/* The kernel writes a part, as it does when a disk becomes full, and refuses the next write. */
static void the_reason_of_a_short_write_is_told(void **state)
{
    (void)state;
    struct rlimit before, small;
    assert_int_equal(replace("older"), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){4, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int result = replace("longer than that"), code = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(result, -1);
    assert_int_equal(code, EFBIG);
    assert_content("older");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_is_made_for_its_owner_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_shorter_one_takes_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_dead_process_left_is_no_obstacle, setup, teardown),
        cmocka_unit_test_setup_teardown(a_directory_in_its_place_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_directory_that_is_not_there, setup, teardown),
        cmocka_unit_test_setup_teardown(the_reason_of_a_short_write_is_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
