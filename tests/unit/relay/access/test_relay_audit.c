/* The audit log: a JSON line each, in a file of this user's alone that stays small. */
#include "cmocka_prelude.h"

#include "relay/access/audit.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];
static char path[128];
static char old_path[128];

static int setup(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/raydbg-audit-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/audit.log", directory);
    snprintf(old_path, sizeof old_path, "%s/audit.log.1", directory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    unlink(old_path);
    return rmdir(directory);
}

static char *read_file(const char *name, size_t *size)
{
    int fd = open(name, O_RDONLY);
    assert_true(fd >= 0);
    *size = (size_t)lseek(fd, 0, SEEK_END);
    char *text = malloc(*size + 1);
    assert_int_equal(pread(fd, text, *size, 0), *size);
    text[*size] = '\0';
    close(fd);
    return text;
}

static struct audit *open_log(void)
{
    struct audit *audit = audit_open(path, NULL);
    assert_non_null(audit);
    return audit;
}

static void assert_text(const cJSON *object, const char *key, const char *value)
{
    const char *is = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    assert_non_null(is);
    assert_string_equal(is, value);
}

static void test_a_line(void **state)
{
    (void)state;
    struct audit *audit = open_log();
    audit_write(audit, &(struct audit_entry){.action = "attach",
                                             .peer = "127.0.0.1:5",
                                             .role = "driver",
                                             .client = "a\"b\\\n\x01\xFF\xE2\x82\xAC"
                                                       "\xC2\x9B\xE2\x80\xAE",
                                             .detail = ""});
    audit_write(audit, &(struct audit_entry){.action = "release", .task = "t", .pause = "p"});
    audit_close(&audit);
    assert_null(audit);
    size_t size;
    char *text = read_file(path, &size);
    const char *end;
    cJSON *line = cJSON_ParseWithOpts(text, &end, false);
    assert_non_null(line);
    assert_int_equal(*end, '\n');
    assert_text(line, "action", "attach");
    assert_text(line, "peer", "127.0.0.1:5");
    assert_text(line, "role", "driver");
    assert_text(line, "client",
                "a\"b\\\n\x01\xEF\xBF\xBD\xE2\x82\xAC"
                "\xC2\x9B\xE2\x80\xAE");
    assert_non_null(strstr(text, "\\u009b\\u202e"));
    assert_null(strstr(text, "\xC2\x9B"));
    assert_text(line, "detail", "");
    assert_null(cJSON_GetObjectItem(line, "task"));
    regex_t time;
    assert_int_equal(regcomp(&time, "^[{]\"time\":\"20[0-9-]{8}T[0-9:]{8}[.][0-9]{3}Z\",\"action\"",
                             REG_EXTENDED),
                     0);
    assert_int_equal(regexec(&time, text, 0, NULL, 0), 0);
    assert_int_equal(regexec(&time, end + 1, 0, NULL, 0), 0);
    regfree(&time);
    cJSON_Delete(line);
    line = cJSON_Parse(end + 1);
    assert_text(line, "task", "t");
    assert_text(line, "pause", "p");
    cJSON_Delete(line);
    assert_int_equal(text[size - 1], '\n');
    free(text);
}

static void test_long_words_are_cut_between_characters(void **state)
{
    (void)state;
    struct audit *audit = open_log();
    for (size_t start = 0; start < 3; start++) {
        char name[5000] = "";
        memset(name, 'x', start);
        for (int i = 0; i < 1500; i++)
            strcat(name + start, "\xE2\x82\xAC");
        audit_write(audit, &(struct audit_entry){.action = "attach", .client = name});
    }
    audit_close(&audit);
    size_t size;
    char *text = read_file(path, &size);
    assert_true(size < 3 * 1200);
    assert_null(strstr(text, "\xEF\xBF\xBD"));
    free(text);
}

static void test_modes(void **state)
{
    (void)state;
    struct stat file;
    struct audit *audit = open_log();
    audit_close(&audit);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0644), 0);
    audit = open_log();
    audit_close(&audit);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
}

static void test_it_is_appended_to(void **state)
{
    (void)state;
    size_t size;
    for (int i = 0; i < 2; i++) {
        struct audit *audit = open_log();
        audit_write(audit, &(struct audit_entry){.action = i ? "two" : "one"});
        audit_close(&audit);
    }
    char *text = read_file(path, &size);
    assert_non_null(strstr(text, "\"one\"}\n{"));
    assert_non_null(strstr(text, "\"two\"}\n"));
    free(text);
}

static void test_it_stays_small(void **state)
{
    (void)state;
    struct audit *audit = open_log();
    assert_int_equal(truncate(path, 10 * 1024 * 1024 - 150), 0);
    audit_write(audit, &(struct audit_entry){.action = "still fits"});
    assert_int_equal(access(old_path, F_OK), -1);
    char detail[200] = "";
    memset(detail, 'x', sizeof detail - 1);
    audit_write(audit, &(struct audit_entry){.action = "new", .detail = detail});
    struct stat file;
    assert_int_equal(stat(old_path, &file), 0);
    assert_true(file.st_size > 10 * 1024 * 1024 - 150 && file.st_size <= 10 * 1024 * 1024);
    assert_int_equal(stat(path, &file), 0);
    assert_true(file.st_size < 400);
    assert_int_equal(file.st_mode & 0777, 0600);
    /* One old file is kept, no more. */
    assert_int_equal(truncate(path, 10 * 1024 * 1024), 0);
    audit_write(audit, &(struct audit_entry){.action = "third"});
    size_t size;
    char *text = read_file(path, &size);
    assert_non_null(strstr(text, "\"third\""));
    free(text);
    text = read_file(old_path, &size);
    assert_non_null(strstr(text, "\"new\""));
    free(text);
    audit_close(&audit);
}

static void write_action(struct audit *audit, const char *action)
{
    audit_write(audit, &(struct audit_entry){.action = action});
}

static bool file_has(const char *name, const char *word)
{
    size_t size;
    char *text = read_file(name, &size);
    bool found = memmem(text, size, word, strlen(word));
    free(text);
    return found;
}

/* Two relays of one user: the second one does not move the file that the first one has begun. */
static void test_two_relays_rotate_it_once(void **state)
{
    (void)state;
    struct audit *one = open_log(), *other = open_log();
    write_action(one, "early");
    assert_int_equal(truncate(path, 10 * 1024 * 1024), 0);
    write_action(one, "of one");
    write_action(other, "of the other");
    assert_true(file_has(path, "of one") && file_has(path, "of the other"));
    assert_true(file_has(old_path, "early"));
    assert_int_equal(truncate(path, 10 * 1024 * 1024), 0);
    write_action(other, "later");
    assert_true(file_has(path, "later"));
    assert_true(file_has(old_path, "of the other"));
    audit_close(&one);
    audit_close(&other);
}

/* While another relay moves it, lines go into the full file. */
static void test_a_relay_rotates_it_at_this_moment(void **state)
{
    (void)state;
    struct audit *audit = open_log();
    int fd = open(path, O_RDONLY);
    assert_int_equal(truncate(path, 10 * 1024 * 1024), 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    write_action(audit, "meanwhile");
    assert_int_equal(access(old_path, F_OK), -1);
    assert_true(file_has(path, "meanwhile"));
    close(fd);
    write_action(audit, "after");
    assert_true(file_has(old_path, "meanwhile"));
    assert_true(file_has(path, "after") && !file_has(path, "meanwhile"));
    audit_close(&audit);
}

static void test_somebody_removes_it(void **state)
{
    (void)state;
    struct audit *audit = open_log();
    audit_write(audit, &(struct audit_entry){.action = "one"});
    assert_int_equal(unlink(path), 0);
    audit_write(audit, &(struct audit_entry){.action = "two"});
    audit_close(&audit);
    size_t size;
    char *text = read_file(path, &size);
    assert_non_null(strstr(text, "\"two\""));
    free(text);
}

/* What stderr gets while fn runs. */
static char *stderr_of(void (*fn)(struct audit *audit), struct audit *audit)
{
    FILE *file = tmpfile();
    int before = dup(2);
    fflush(stderr);
    dup2(fileno(file), 2);
    fn(audit);
    fflush(stderr);
    dup2(before, 2);
    close(before);
    char *text = calloc(1, 4096);
    rewind(file);
    assert_true(fread(text, 1, 4095, file) < 4095);
    fclose(file);
    return text;
}

static void write_five(struct audit *audit)
{
    for (int i = 0; i < 5; i++)
        audit_write(audit, &(struct audit_entry){.action = "attach"});
}

/* What another user, or one who has the directory, may have put there. */
static void test_no_other_file_is_written(void **state)
{
    (void)state;
    char other[160];
    struct stat file;
    struct err err = {0};
    snprintf(other, sizeof other, "%s/other", directory);
    int fd = open(other, O_CREAT | O_WRONLY, 0644);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(symlink(other, path), 0);
    assert_null(audit_open(path, &err));
    assert_string_equal(err.why, "it is a symbolic link");
    unlink(path);
    assert_int_equal(symlink("/nowhere", path), 0);
    assert_null(audit_open(path, &err));
    unlink(path);
    assert_int_equal(link(other, path), 0);
    assert_null(audit_open(path, &err));
    assert_non_null(strstr(err.why, "hard link"));
    unlink(path);
    struct audit *audit = open_log(); /* and later, when a new file is begun */
    unlink(path);
    assert_int_equal(symlink(other, path), 0);
    char *warning = stderr_of(write_five, audit);
    assert_non_null(strstr(warning, "lines are lost"));
    free(warning);
    audit_close(&audit);
    assert_int_equal(stat(other, &file), 0);
    assert_int_equal(file.st_size, 0);
    assert_int_equal(file.st_mode & 0777, 0644);
    unlink(other);
}

/* /dev/stderr of a relay whose stderr is a file. */
static void test_a_link_of_the_systems_is_followed(void **state)
{
    (void)state;
    struct stat file;
    int fd = open(path, O_CREAT | O_RDWR, 0644), before = dup(2);
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_int_equal(ftruncate(fd, 20 * 1024 * 1024), 0);
    dup2(fd, 2);
    struct audit *audit = audit_open("/dev/stderr", NULL);
    audit_write(audit, &(struct audit_entry){.action = "one"});
    dup2(before, 2);
    close(before);
    close(fd);
    assert_non_null(audit);
    audit_close(&audit);
    assert_int_equal(stat(path, &file), 0);
    assert_true(file.st_size > 20 * 1024 * 1024);
    assert_int_equal(file.st_mode & 0777, 0644);
    assert_int_equal(access("/dev/stderr.1", F_OK), -1);
}

static void test_a_full_disk_is_warned_of_once(void **state)
{
    (void)state;
    struct err err = {0};
    struct audit *audit = audit_open("/dev/full", &err);
    assert_non_null(audit);
    char *text = stderr_of(write_five, audit);
    assert_string_equal(text, "raydbg: warn: the audit log /dev/full cannot be written: No space "
                              "left on device: lines are lost\n");
    free(text);
    audit_close(&audit);
    assert_null(audit_open("/nowhere/at/all", &err));
    assert_string_equal(err.what, "the audit log /nowhere/at/all cannot be opened");
    assert_int_equal(err.code, ERR_FAILED);
}

/* A line that the disk took in part does not spoil the next one. */
static void test_a_torn_line(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    char name[64], block[65536] = {0};
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]);
    struct audit *audit = audit_open(name, NULL);
    assert_non_null(audit);
    /* A line longer than PIPE_BUF may be written in part: room is left for one page. */
    assert_int_equal(write(ends[1], block, sizeof block - 4096), sizeof block - 4096);
    char detail[1024];
    memset(detail, 'd', sizeof detail - 1);
    detail[sizeof detail - 1] = '\0';
    struct audit_entry entry = {detail, detail, detail, detail, detail, detail, detail};
    char *warning = stderr_of(write_five, audit); /* these fit */
    assert_string_equal(warning, "");
    free(warning);
    int before = dup(2), null = open("/dev/null", O_WRONLY);
    dup2(null, 2);
    audit_write(audit, &entry);
    dup2(before, 2);
    close(before);
    close(null);
    ssize_t len, total = 0;
    char last = 0;
    while ((len = read(ends[0], block, sizeof block)) > 0) {
        total += len;
        last = block[len - 1];
    }
    assert_true(total > (ssize_t)sizeof block - 4096 + 1000); /* some of the long one is there */
    assert_int_equal(last, 'd');
    audit_write(audit, &(struct audit_entry){.action = "next"});
    len = read(ends[0], block, sizeof block);
    assert_true(len > 0);
    assert_int_equal(block[0], '\n');
    assert_int_equal(block[1], '{');
    audit_close(&audit);
    close(ends[0]);
    close(ends[1]);
}

static void test_none(void **state)
{
    (void)state;
    struct audit *audit = audit_open("none", NULL);
    assert_non_null(audit);
    audit_write(audit, &(struct audit_entry){.action = "attach"});
    audit_close(&audit);
    assert_int_equal(access("none", F_OK), -1);
    audit_write(NULL, &(struct audit_entry){.action = "attach"});
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_line),
        TEST(test_long_words_are_cut_between_characters),
        TEST(test_modes),
        TEST(test_it_is_appended_to),
        TEST(test_it_stays_small),
        TEST(test_two_relays_rotate_it_once),
        TEST(test_a_relay_rotates_it_at_this_moment),
        TEST(test_somebody_removes_it),
        TEST(test_a_full_disk_is_warned_of_once),
        TEST(test_a_torn_line),
        TEST(test_no_other_file_is_written),
        TEST(test_a_link_of_the_systems_is_followed),
        TEST(test_none),
    };
    return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
