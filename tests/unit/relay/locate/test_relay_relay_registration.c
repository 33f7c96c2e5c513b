#include "cmocka_prelude.h"
#include "waits.h"

#include "relay/access/auth.h"
#include "relay/locate/relay_registration.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef-driver"
#define OBSERVER_TOKEN "0123456789abcdef-observer"

/* In place of libc's: what is another user's is told apart without being root. */
static bool as_another_user;

uid_t geteuid(void)
{
    return (uid_t)syscall(SYS_geteuid) + (as_another_user ? 1 : 0);
}

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

static struct relay_registration *start(struct loop *loop, const char *address)
{
    const char *addresses[] = {address, "unix:/run/r.sock"};
    const struct relay_registration_facts facts = {
        .cluster = "10.0.0.5:6379",
        .addresses = addresses,
        .address_count = 2,
        .tls = true,
        .fingerprint = "SHA256:ab",
        .node_ip = "10.0.0.7",
    };
    return relay_registration_start(loop, NULL, &facts);
}

static void a_relay_is_found_while_it_lives(void **state)
{
    struct relay_registration_entry entry;
    struct stat status;
    char path[PATH_MAX + 16];
    (void)state;
    struct loop *loop = new_loop();
    assert_false(relay_registration_find_local(&entry, NULL));
    struct relay_registration *registration = start(loop, "0.0.0.0:4713");
    snprintf(path, sizeof path, "%s/relay.json", directory);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(relay_registration_find_local(&entry, "10.0.0.5:6379"));
    assert_int_equal(entry.address_count, 2);
    assert_string_equal(entry.addresses[0], "10.0.0.7:4713");
    assert_string_equal(entry.addresses[1], "unix:/run/r.sock");
    assert_string_equal(entry.fingerprint, "SHA256:ab");
    assert_true(entry.tls);
    assert_int_equal(entry.pid, getpid());
    relay_registration_entry_clear(&entry);
    assert_false(relay_registration_find_local(&entry, "10.0.0.6:6379"));
    relay_registration_stop(&registration);
    assert_false(relay_registration_find_local(&entry, NULL));
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
        settle_us(5000); /* when it started is told in milliseconds */
        struct relay_registration *other = start(loop, "127.0.0.1:5000");
        close(end[1]);
        (void)!write(there[1], "x", 1);
        (void)!read(end[0], &byte, 1);
        if (byte == 'k')
            _exit(0); /* as if killed: nothing is removed */
        relay_registration_stop(&other);
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
    struct relay_registration_entry entry;
    int go_on;
    (void)state;
    struct loop *loop = new_loop();
    struct relay_registration *registration = start(loop, "127.0.0.1:4713");
    pid_t child = start_other(&go_on);
    assert_int_equal(count_files(), 2);
    assert_true(relay_registration_find_local(&entry, NULL));
    assert_int_equal(entry.pid, child); /* the newest */
    relay_registration_entry_clear(&entry);
    assert_int_equal(write(go_on, "k", 1), 1);
    waitpid(child, NULL, 0);
    close(go_on);
    assert_int_equal(count_files(), 2);
    assert_true(relay_registration_find_local(&entry, NULL));
    assert_int_equal(entry.pid, getpid()); /* the other one is dead */
    relay_registration_entry_clear(&entry);
    relay_registration_stop(&registration);
    loop_destroy(&loop);
    loop = new_loop();
    registration = start(loop, "127.0.0.1:5000");
    relay_registration_stop(&registration);
    loop_destroy(&loop);
}

static void a_file_that_was_taken_over_stays(void **state)
{
    char path[PATH_MAX + 16], text[4096];
    (void)state;
    struct loop *loop = new_loop();
    struct relay_registration *registration = start(loop, "127.0.0.1:4713");
    snprintf(path, sizeof path, "%s/relay.json", directory);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    size_t len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    char *pid = strstr(text, "\"pid\":");
    assert_non_null(pid);
    fseek(file, pid + 6 - text, SEEK_SET);
    fputc(pid[6] == '9' ? '8' : '9', file); /* another's */
    fclose(file);
    relay_registration_stop(&registration);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    loop_destroy(&loop);
}

/* As a relay has it that starts again without ending its process: the file is its own. */
static void a_process_takes_its_own_file_over(void **state)
{
    (void)state;
    size_t before = count_files();
    struct loop *loop = new_loop();
    struct relay_registration *first = start(loop, "127.0.0.1:4713");
    struct relay_registration *second = start(loop, "127.0.0.1:5000");
    assert_int_equal(count_files(), before + 1);
    relay_registration_stop(&first);
    relay_registration_stop(&second);
    assert_int_equal(count_files(), before);
    loop_destroy(&loop);
}

/* A relay that was killed, and another process with its pid after it. */
static void a_file_of_an_earlier_process_with_this_pid_stays(void **state)
{
    char path[PATH_MAX + 16], text[4096];
    (void)state;
    struct loop *loop = new_loop();
    struct relay_registration *registration = start(loop, "127.0.0.1:4713");
    snprintf(path, sizeof path, "%s/relay.json", directory);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    char *ticks = strstr(text, "\"start_ticks\":");
    assert_non_null(ticks);
    ticks += strlen("\"start_ticks\":");
    fseek(file, ticks - text, SEEK_SET);
    fputc(*ticks == '9' ? '8' : '9', file);
    fclose(file);
    relay_registration_stop(&registration);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    loop_destroy(&loop);
}

static void a_file_that_others_may_write_is_not_believed(void **state)
{
    static const mode_t modes[] = {0620, 0602};
    struct relay_registration_entry entry;
    char path[PATH_MAX + 16];
    (void)state;
    struct loop *loop = new_loop();
    struct relay_registration *registration = start(loop, "127.0.0.1:4713");
    snprintf(path, sizeof path, "%s/relay.json", directory);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_false(relay_registration_find_local(&entry, NULL));
    }
    assert_int_equal(chmod(path, 0644), 0);
    assert_true(relay_registration_find_local(&entry, NULL));
    relay_registration_entry_clear(&entry);
    relay_registration_stop(&registration);
    loop_destroy(&loop);
}

static void a_file_of_another_user_is_not_believed(void **state)
{
    struct relay_registration_entry entry;
    (void)state;
    struct loop *loop = new_loop();
    struct relay_registration *registration = start(loop, "127.0.0.1:4713");
    as_another_user = true;
    bool found = relay_registration_find_local(&entry, NULL);
    as_another_user = false;
    assert_false(found);
    assert_true(relay_registration_find_local(&entry, NULL));
    relay_registration_entry_clear(&entry);
    relay_registration_stop(&registration);
    loop_destroy(&loop);
}

/* --- proofs --- */

/* relay.json as a relay with both tokens has it; the caller deletes it. */
static cJSON *proven_entry(void)
{
    static const char *const addresses[] = {"127.0.0.1:4713", "unix:/run/r.sock"};
    char path[PATH_MAX + 16], text[4096];
    struct err err;
    setenv("RAYDBG_TOKEN", TOKEN, 1);
    setenv("RAYDBG_OBSERVER_TOKEN", OBSERVER_TOKEN, 1);
    struct auth *auth = auth_create(&(struct auth_options){0}, &err);
    struct loop *loop = new_loop();
    const struct relay_registration_facts facts = {
        .cluster = "10.0.0.5:6379",
        .addresses = addresses,
        .address_count = 2,
        .fingerprint = "SHA256:ab",
        .auth = auth,
    };
    struct relay_registration *registration = relay_registration_start(loop, NULL, &facts);
    snprintf(path, sizeof path, "%s/relay.json", directory);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    relay_registration_stop(&registration);
    loop_destroy(&loop);
    auth_destroy(&auth);
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    return root;
}

static bool proves(const cJSON *root, const char *token)
{
    struct relay_registration_entry entry;
    char *text = cJSON_PrintUnformatted(root);
    assert_true(relay_registration_parse(&entry, text, strlen(text)));
    bool proven = relay_registration_proves(&entry, token);
    relay_registration_entry_clear(&entry);
    free(text);
    return proven;
}

static void both_tokens_are_proven(void **state)
{
    cJSON *root = proven_entry();
    (void)state;
    assert_true(proves(root, TOKEN));
    assert_true(proves(root, OBSERVER_TOKEN));
    assert_false(proves(root, "0123456789abcdef"));
    cJSON_Delete(root);
}

static void every_part_of_an_entry_is_proven(void **state)
{
    static const char *const changes[][2] = {
        {"addresses", "[\"127.0.0.1:4713\"]"},
        {"addresses", "[\"unix:/run/r.sock\",\"127.0.0.1:4713\"]"},
        {"addresses", "[\"127.0.0.1:4713\",\"unix:/run/r.sock\",\"127.0.0.1:1\"]"},
        {"tls", "true"},
        {"pid", "7"},
        {"id", "\"0123\""},
        {"cluster", "\"10.0.0.6:6379\""},
        {"fingerprint", "\"SHA256:cd\""},
        {"fingerprint", "\"\""},
        {"host", "\"victim\""},
        {"machine", "\"victim\""},
        {"version", "\"9\""},
        {"start_ticks", "1"},
        {"started", "1"},
        {"refreshed", "1700000000000"},
        {"proofs", "[]"},
        {"proofs", "[\"\"]"},
    };
    cJSON *root = proven_entry();
    (void)state;
    assert_true(proves(root, TOKEN));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        cJSON *copy = cJSON_Duplicate(root, true);
        assert_true(cJSON_HasObjectItem(copy, changes[i][0]));
        cJSON_ReplaceItemInObjectCaseSensitive(copy, changes[i][0], cJSON_Parse(changes[i][1]));
        if (proves(copy, TOKEN))
            fail_msg("\"%s\" is not proven", changes[i][0]);
        cJSON_Delete(copy);
    }
    cJSON_Delete(root);
}

static void loopback_is_of_one_machine(void **state)
{
    struct relay_registration_entry entry;
    cJSON *root = proven_entry();
    (void)state;
    for (int here = 1; here >= 0; here--) {
        if (!here)
            cJSON_ReplaceItemInObject(root, "machine", cJSON_CreateString("another"));
        char *text = cJSON_PrintUnformatted(root);
        assert_true(relay_registration_parse(&entry, text, strlen(text)));
        assert_int_equal(relay_registration_is_here(&entry), here);
        relay_registration_entry_clear(&entry);
        free(text);
    }
    cJSON_Delete(root);
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
    struct relay_registration_entry entry;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(relay_registration_parse(&entry, texts[i], strlen(texts[i])));
    static const char good[] = "{\"addresses\":[\"a:1\"],\"pid\":4,\"refreshed\":1700000000123}";
    assert_true(relay_registration_parse(&entry, good, strlen(good)));
    assert_true(entry.refreshed_ms == 1700000000123);
    relay_registration_entry_clear(&entry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relay_is_found_while_it_lives),
        cmocka_unit_test(several_relays_have_a_file_each),
        cmocka_unit_test(a_file_that_was_taken_over_stays),
        cmocka_unit_test(a_process_takes_its_own_file_over),
        cmocka_unit_test(a_file_of_an_earlier_process_with_this_pid_stays),
        cmocka_unit_test(a_file_that_others_may_write_is_not_believed),
        cmocka_unit_test(a_file_of_another_user_is_not_believed),
        cmocka_unit_test(both_tokens_are_proven),
        cmocka_unit_test(every_part_of_an_entry_is_proven),
        cmocka_unit_test(loopback_is_of_one_machine),
        cmocka_unit_test(nonsense),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
