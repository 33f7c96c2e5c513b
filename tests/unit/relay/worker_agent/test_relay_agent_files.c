/* The directory that a driver gets its agent from: nobody else can read it, and nothing stays. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/worker_agent/agent_files.h"
#include "relay/worker_agent/agent_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct agent_files_config config = {
    .host = "127.0.0.1",
    .port = 4713,
    .fingerprint = "SHA256:ab",
    .key_id = "id",
    .key = "secret",
    .stops = ",\"post_mortem\":true",
};

static void expect_private(const char *directory, const char *name, mode_t mode, const char *start)
{
    char *path = mem_format("%s/%s", directory, name), text[200] = "";
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, mode);
    FILE *in = S_ISDIR(file.st_mode) ? NULL : fopen(path, "r");
    if (in) {
        assert_int_not_equal(fread(text, 1, sizeof text - 1, in), 0);
        fclose(in);
        assert_true(text_starts(text, start));
    }
    free(path);
}

static void the_files_are_the_users_only(void **state)
{
    (void)state;
    struct err err;
    char directory[] = "/tmp/raydbg-agent-XXXXXX", *cache;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(agent_files_write(directory, &config, &err), -1); /* it exists already */
    assert_int_equal(access(directory, F_OK), 0);
    assert_int_equal(rmdir(directory), 0);
    umask(0);
    assert_int_equal(agent_files_write(directory, &config, &err), 0);
    expect_private(directory, ".", 0700, "");
    expect_private(directory, "run.json", 0600,
                   "{\"host\":\"127.0.0.1\",\"port\":4713,\"fingerprint\":\"SHA256:ab\","
                   "\"key_id\":\"id\",\"key\":\"secret\","
                   "\"post_mortem\":true}\n");
    expect_private(directory, "raydbg_run.py", 0600,
                   "\"\"\"The part of `raydbg run` and `raydbg env` in the");
    expect_private(directory, "sitecustomize.py", 0600,
                   "\"\"\"Starts the driver's agent before the");
    expect_private(directory, "raydbg_agent.py", 0600, "\"\"\"The agent in a Ray worker or driver");
    cache = mem_format("%s/__pycache__", directory);
    assert_int_equal(mkdir(cache, 0755), 0);
    char *cached = mem_format("%s/raydbg_run.cpython-311.pyc", cache);
    close(open(cached, O_CREAT | O_WRONLY, 0600));
    agent_files_remove(directory);
    assert_int_equal(access(directory, F_OK), -1);
    assert_int_equal(errno, ENOENT);
    free(cached);
    free(cache);
}

static void the_agent_has_the_list_of_rays_paths(void **state)
{
    (void)state;
    static const char *const paths[] = {
#include "base/ray_path_list.h"
    };
    const char *list = strstr(worker_agent_agent, "\n\nRAY_PATHS = (\n");
    assert_non_null(list);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_non_null(strstr(list, paths[i]));
    assert_non_null(strstr(list, ",\n)\n"));
}

static void a_directory_that_cannot_be_is_said(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(agent_files_write("/proc/nothing/here", &config, &err), -1);
    assert_true(strstr(err.what, "/proc/nothing/here"));
    assert_true(*err.why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_files_are_the_users_only),
        cmocka_unit_test(the_agent_has_the_list_of_rays_paths),
        cmocka_unit_test(a_directory_that_cannot_be_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
