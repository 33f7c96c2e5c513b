#include "cmocka_prelude.h"

#include "relay/registration.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char home[] = "/tmp/raydbg-registration-XXXXXX";
static char directory[PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(home))
        return -1;
    snprintf(directory, sizeof directory, "%s/raydbg", home);
    return setenv("XDG_STATE_HOME", home, 1);
}

static int tear_down(void **state)
{
    char command[PATH_MAX];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", home);
    return system(command);
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *files = opendir(directory);
    const struct dirent *file;
    while (files && (file = readdir(files)))
        count += file->d_name[0] != '.';
    if (files)
        closedir(files);
    return count;
}

static struct loop *new_loop(void)
{
    struct err err;
    struct loop *loop = loop_create(false, &err);
    assert_non_null(loop);
    return loop;
}

static struct registration *start(struct loop *loop, const char *address)
{
    const char *addresses[] = {address, "unix:/run/r.sock"};
    const struct registration_facts facts = {
        .cluster = "10.0.0.5:6379",
        .addresses = addresses,
        .address_count = 2,
        .tls = true,
        .fingerprint = "SHA256:ab",
        .node_ip = "10.0.0.7",
    };
    return registration_start(loop, NULL, &facts);
}

static void a_relay_is_found_while_it_lives(void **state)
{
    struct registration_entry entry;
    struct stat status;
    char path[PATH_MAX + 16];
    (void)state;
    struct loop *loop = new_loop();
    assert_false(registration_find_local(&entry, NULL));
    struct registration *registration = start(loop, "0.0.0.0:4713");
    snprintf(path, sizeof path, "%s/relay.json", directory);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(registration_find_local(&entry, "10.0.0.5:6379"));
    assert_int_equal(entry.address_count, 2);
    assert_string_equal(entry.addresses[0], "10.0.0.7:4713");
    assert_string_equal(entry.addresses[1], "unix:/run/r.sock");
    assert_string_equal(entry.fingerprint, "SHA256:ab");
    assert_true(entry.tls);
    assert_int_equal(entry.pid, getpid());
    registration_entry_clear(&entry);
    assert_false(registration_find_local(&entry, "10.0.0.6:6379"));
    registration_stop(&registration);
    assert_false(registration_find_local(&entry, NULL));
    assert_int_equal(count_files(), 0);
    loop_destroy(&loop);
}

/* A second relay, another process, that tells when it is there and ends when it is told. */
static pid_t start_other(int *go_on)
{
    int there[2], end[2];
    char byte = 0;
    assert_int_equal(pipe(there), 0);
    assert_int_equal(pipe(end), 0);
    pid_t child = fork();
    if (child == 0) {
        struct loop *loop = new_loop();
        usleep(5000); /* when it started is told in milliseconds */
        struct registration *other = start(loop, "127.0.0.1:5000");
        close(end[1]);
        (void)!write(there[1], "x", 1);
        (void)!read(end[0], &byte, 1);
        if (byte == 'k')
            _exit(0); /* as if killed: nothing is removed */
        registration_stop(&other);
        loop_destroy(&loop);
        _exit(0);
    }
    close(end[0]);
    assert_int_equal(read(there[0], &byte, 1), 1);
    close(there[0]);
    close(there[1]);
    *go_on = end[1];
    return child;
}

static void several_relays_have_a_file_each(void **state)
{
    struct registration_entry entry;
    int go_on;
    (void)state;
    struct loop *loop = new_loop();
    struct registration *registration = start(loop, "127.0.0.1:4713");
    pid_t child = start_other(&go_on);
    assert_int_equal(count_files(), 2);
    assert_true(registration_find_local(&entry, NULL));
    assert_int_equal(entry.pid, child); /* the newest */
    registration_entry_clear(&entry);
    assert_int_equal(write(go_on, "k", 1), 1);
    waitpid(child, NULL, 0);
    close(go_on);
    assert_int_equal(count_files(), 2);
    assert_true(registration_find_local(&entry, NULL));
    assert_int_equal(entry.pid, getpid()); /* the other one is dead */
    registration_entry_clear(&entry);
    registration_stop(&registration);
    loop_destroy(&loop);
    loop = new_loop();
    registration = start(loop, "127.0.0.1:5000");
    registration_stop(&registration);
    loop_destroy(&loop);
}

static void a_file_that_was_taken_over_stays(void **state)
{
    char path[PATH_MAX + 16], text[4096];
    (void)state;
    struct loop *loop = new_loop();
    struct registration *registration = start(loop, "127.0.0.1:4713");
    snprintf(path, sizeof path, "%s/relay.json", directory);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    size_t len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    char *pid = strstr(text, "\"pid\":");
    assert_non_null(pid);
    fseek(file, pid + 6 - text, SEEK_SET);
    fputc('9', file); /* another's, by its first digit or its length */
    fputc('9', file);
    fclose(file);
    registration_stop(&registration);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    loop_destroy(&loop);
}

static void nonsense(void **state)
{
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"addresses\":[]}",
        "{\"addresses\":[\"a\"]}",
        "{\"addresses\":[1],\"pid\":4}",
        "{\"addresses\":\"a\",\"pid\":4}",
        "{\"addresses\":[\"a\"],\"pid\":-4}",
    };
    struct registration_entry entry;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(registration_parse(&entry, texts[i], strlen(texts[i])));
    static const char good[] = "{\"addresses\":[\"a:1\"],\"pid\":4,\"refreshed\":1700000000123}";
    assert_true(registration_parse(&entry, good, strlen(good)));
    assert_true(entry.refreshed_ms == 1700000000123);
    registration_entry_clear(&entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relay_is_found_while_it_lives),
        cmocka_unit_test(several_relays_have_a_file_each),
        cmocka_unit_test(a_file_that_was_taken_over_stays),
        cmocka_unit_test(nonsense),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
