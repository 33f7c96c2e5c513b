/* Tokens: where they come from, which ones are refused, and what they are good for. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/access/auth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRIVER "the-driver's-token"
#define OBSERVER "the-observer's-token"

static char home[64];

static int make_home(void **state)
{
    (void)state;
    text_copy(home, sizeof home, "/tmp/test-auth-XXXXXX");
    assert_non_null(mkdtemp(home));
    unsetenv("XDG_STATE_HOME");
    unsetenv("RAYDBG_TOKEN");
    unsetenv("RAYDBG_OBSERVER_TOKEN");
    return setenv("HOME", home, 1);
}

static int remove_home(void **state)
{
    (void)state;
    char *command = mem_format("rm -rf '%s'", home);
    int rc = system(command);
    free(command);
    return rc;
}

/* A file under `home`; the path is valid until the next call. */
static const char *file(const char *name, const char *text, mode_t mode)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", home, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static struct auth *create(const char *driver_file, const char *observer_file)
{
    struct err err = {0};
    struct auth_options options = {driver_file, observer_file};
    struct auth *auth = auth_create(&options, &err);
    if (!auth)
        fail_msg("%s: %s", err.what, err.why);
    assert_int_equal(err.code, ERR_NONE);
    return auth;
}

static void expect_refused(const char *driver_file, const char *observer_file, const char *why)
{
    struct err err = {0};
    struct auth_options options = {driver_file, observer_file};
    assert_null(auth_create(&options, &err));
    assert_int_not_equal(err.code, ERR_NONE);
    if (!strstr(err.why, why) && !strstr(err.what, why))
        fail_msg("%s: %s", err.what, err.why);
}

static void a_token_is_made(void **state)
{
    (void)state;
    struct stat info;
    struct err err;
    char *path = auth_state_path("token"), *token, *directory = auth_state_path("");
    struct auth *auth = create(NULL, NULL);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(stat(directory, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(auth_client_token(NULL, &token, &err), 0);
    assert_int_equal(strlen(token), 64);
    assert_int_equal(strspn(token, "0123456789abcdef"), 64);
    assert_int_equal(auth_check(auth, token), AUTH_DRIVER);
    auth_destroy(&auth);
    assert_null(auth);
    auth = create(NULL, NULL); /* the same one */
    assert_int_equal(auth_check(auth, token), AUTH_DRIVER);
    assert_int_equal(auth_make_token_file(path, &err), -1);
    assert_string_equal(err.why, strerror(EEXIST));
    auth_destroy(&auth);
    free(token);
    free(path);
    free(directory);
}

static void only_the_token_will_do(void **state)
{
    (void)state;
    setenv("RAYDBG_TOKEN", DRIVER, 1);
    setenv("RAYDBG_OBSERVER_TOKEN", OBSERVER, 1);
    struct auth *auth = create(NULL, NULL);
    assert_false(auth_is_open(auth));
    assert_int_equal(auth_check(auth, DRIVER), AUTH_DRIVER);
    assert_int_equal(auth_check(auth, OBSERVER), AUTH_OBSERVER);
    static const char *const wrong[] = {
        "", "t", DRIVER "x", "x" DRIVER, "the-driver", OBSERVER DRIVER, DRIVER DRIVER};
    assert_int_equal(auth_check(auth, NULL), AUTH_NONE);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(auth_check(auth, wrong[i]), AUTH_NONE);
    auth_destroy(&auth);
    auth = auth_create_open();
    assert_true(auth_is_open(auth));
    assert_int_equal(auth_check(auth, NULL), AUTH_DRIVER);
    auth_destroy(&auth);
    assert_string_equal(auth_role_name(AUTH_OBSERVER), "observer");
}

static void a_file_comes_first(void **state)
{
    (void)state;
    struct err err;
    char *token;
    setenv("RAYDBG_TOKEN", DRIVER, 1);
    const char *path = file("t", "\n  0123456789abcdef \r\n", 0600);
    struct auth *auth = create(path, NULL);
    assert_int_equal(auth_check(auth, "0123456789abcdef"), AUTH_DRIVER);
    assert_int_equal(auth_check(auth, DRIVER), AUTH_NONE);
    assert_int_equal(auth_check(auth, ""), AUTH_NONE); /* there is no observer's */
    auth_destroy(&auth);
    assert_int_equal(auth_client_token(path, &token, &err), 0); /* a client's order is another */
    assert_string_equal(token, DRIVER);
    free(token);
    unsetenv("RAYDBG_TOKEN");
    assert_int_equal(auth_client_token(path, &token, &err), 0);
    assert_string_equal(token, "0123456789abcdef");
    free(token);
    assert_int_equal(auth_client_token(NULL, &token, &err), 0);
    assert_null(token);
    assert_int_equal(auth_client_token("/nonexistent", &token, &err), -1);
    assert_null(token);
}

static void the_observers_file_is_found(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(auth_make_state_directory(&err), 0);
    char *path = auth_state_path("observer-token"), *token;
    assert_int_equal(auth_make_token_file(path, &err), 0);
    assert_int_equal(auth_client_token(path, &token, &err), 0);
    struct auth *auth = create(NULL, NULL);
    assert_int_equal(auth_check(auth, token), AUTH_OBSERVER);
    auth_destroy(&auth);
    setenv("RAYDBG_TOKEN", token, 1);
    expect_refused(NULL, NULL, "the observer's token is the driver's");
    free(token);
    free(path);
}

static void bad_tokens_are_refused(void **state)
{
    (void)state;
    expect_refused(file("t", "0123456789abcdef", 0640), NULL, "others than its owner");
    expect_refused(file("t", "0123456789abcdef", 0604), NULL, "others than its owner");
    expect_refused(file("t", "", 0600), NULL, "it is empty");
    expect_refused(file("t", " \n", 0600), NULL, "it is empty");
    expect_refused(file("t", "0123456789abcde\n", 0600), NULL, "fewer than 16");
    expect_refused(file("t", "0123456789 abcdef", 0600), NULL, "visible ASCII");
    expect_refused(file("t", "0123456789abcdef\xc3\xa9", 0600), NULL, "visible ASCII");
    char text[5000];
    memset(text, 'x', sizeof text);
    text[AUTH_TOKEN_MOST + 1] = '\0';
    expect_refused(file("t", text, 0600), NULL, "more than 1000");
    text[AUTH_TOKEN_MOST] = '\0';
    struct auth *longest = create(file("t", text, 0600), NULL);
    assert_int_equal(auth_check(longest, text), AUTH_DRIVER);
    auth_destroy(&longest);
    memset(text, '\n', sizeof text); /* the token would be in what is cut off */
    memcpy(text + 4090, "0123456789abcdefgh", 19);
    expect_refused(file("t", text, 0600), NULL, "more than 4096 bytes");
    expect_refused("/nonexistent", NULL, strerror(ENOENT));
    expect_refused(home, NULL, strerror(EISDIR));
    expect_refused(NULL, "/nonexistent", strerror(ENOENT));
    setenv("RAYDBG_TOKEN", "short", 1);
    expect_refused(NULL, NULL, "fewer than 16");
    memset(text, 'x', sizeof text);
    text[AUTH_TOKEN_MOST + 1] = '\0';
    setenv("RAYDBG_TOKEN", text, 1);
    expect_refused(NULL, NULL, "more than 1000");
}

static void state_paths(void **state)
{
    (void)state;
    char *path = auth_state_path("x"), want[128];
    snprintf(want, sizeof want, "%s/.local/state/raydbg/x", home);
    assert_string_equal(path, want);
    free(path);
    setenv("XDG_STATE_HOME", "/s", 1);
    path = auth_state_path("");
    assert_string_equal(path, "/s/raydbg");
    free(path);
    setenv("XDG_STATE_HOME", "relative", 1);
    path = auth_state_path("x");
    assert_string_equal(path, want);
    free(path);
    unsetenv("HOME");
    assert_null(auth_state_path("x"));
    expect_refused(NULL, NULL, "no place to keep a token");
}

static void who_may_read_a_token_file(void **state)
{
    (void)state;
    enum { ROOT = 0, US = 65532, ANOTHER = 1000 };
    static const struct {
        uid_t owner, reader;
        mode_t mode;
        bool is_private;
    } rows[] = {
        {US, US, S_IFREG | 0600, true},       {US, US, S_IFREG | 0400, true},
        {US, US, S_IFREG | 0640, false},      {US, US, S_IFREG | 0440, false},
        {US, US, S_IFREG | 0604, false},      {US, US, S_IFREG | 0620, false},
        {ROOT, US, S_IFREG | 0440, true},     {ROOT, US, S_IFREG | 0640, true},
        {ROOT, US, S_IFREG | 0660, false},    {ROOT, US, S_IFREG | 0444, false},
        {ROOT, US, S_IFREG | 0442, false},    {ROOT, US, S_IFREG | 0450, false},
        {ROOT, ROOT, S_IFREG | 0600, true},   {ROOT, ROOT, S_IFREG | 0440, false},
        {ANOTHER, US, S_IFREG | 0440, false}, {ANOTHER, ROOT, S_IFREG | 0440, false},
        {US, US, S_IFIFO | 0666, true},       {ROOT, US, S_IFCHR | 0666, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stat file = {.st_uid = rows[i].owner, .st_mode = rows[i].mode};
        if (auth_file_is_private(&file, rows[i].reader) != rows[i].is_private)
            fail_msg("row %zu", i);
    }
}

int main(void)
{
#define IN_A_HOME(test) cmocka_unit_test_setup_teardown(test, make_home, remove_home)
    const struct CMUnitTest tests[] = {
        IN_A_HOME(a_token_is_made),
        IN_A_HOME(only_the_token_will_do),
        IN_A_HOME(a_file_comes_first),
        IN_A_HOME(the_observers_file_is_found),
        IN_A_HOME(bad_tokens_are_refused),
        IN_A_HOME(state_paths),
        cmocka_unit_test(who_may_read_a_token_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
