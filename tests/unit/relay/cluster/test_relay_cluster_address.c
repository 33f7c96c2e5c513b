/* Where a cluster is looked for, and in which order. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/cluster/cluster_address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a directory of our own, and an environment that says nothing --- */

static char *directory;

static char *path_of(const char *name)
{
    return mem_format("%s/%s", directory, name);
}

static void make_directory(const char *name)
{
    char *path = path_of(name);
    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
}

static void write_file(const char *name, const char *bytes, size_t len)
{
    char *path = path_of(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    fclose(file);
    free(path);
}

static int set_up(void **state)
{
    char template[] = "/tmp/raydbg-address-XXXXXX";
    (void)state;
    if (!mkdtemp(template))
        return -1;
    directory = mem_string(template);
    make_directory("ray");
    make_directory("proc");
    unsetenv("RAY_ADDRESS");
    unsetenv("RAY_API_SERVER_ADDRESS");
    unsetenv("TMPDIR");
    return setenv("RAY_TMPDIR", directory, 1);
}

static int tear_down(void **state)
{
    char *command = mem_format("rm -rf '%s'", directory);
    (void)state;
    int rc = system(command);
    free(command);
    free(directory);
    return rc;
}

static void write_current(const char *text)
{
    write_file("ray/ray_current_cluster", text, strlen(text));
}

/* --- checks --- */

static void check_found(const char *given, const char *text, const char *source)
{
    struct cluster_address address;
    struct err err = {0};
    if (cluster_address_find(&address, given, &err) != 0)
        print_error("%s: %s\n", err.what, err.why);
    assert_int_equal(err.code, ERR_NONE);
    assert_string_equal(address.text, text);
    bool url = text_starts(text, "http");
    assert_int_equal(address.kind, url ? CLUSTER_ADDRESS_DASHBOARD : CLUSTER_ADDRESS_GCS);
    if (source)
        assert_string_equal(address.source, source);
}

/* The errors are of one kind; `why` is a part of the second line. */
static void check_refused(const char *given, const char *why)
{
    struct cluster_address address;
    struct err err = {0};
    if (cluster_address_find(&address, given, &err) == 0)
        print_error("'%s' was taken for %s\n", given, address.text);
    assert_int_equal(err.code, ERR_USAGE);
    if (!strstr(err.why, why))
        print_error("'%s': %s\n", given, err.why);
    assert_non_null(strstr(err.why, why));
    assert_non_null(strstr(err.hint, "6379"));
}

/* --- the order --- */

static void each_source_in_its_turn(void **state)
{
    (void)state;
    char *file = path_of("ray/ray_current_cluster");
    write_current("127.0.0.4:6379");
    check_found(NULL, "127.0.0.4:6379", file);
    setenv("RAY_API_SERVER_ADDRESS", "http://127.0.0.3:8265", 1);
    check_found(NULL, "http://127.0.0.3:8265", "RAY_API_SERVER_ADDRESS");
    setenv("RAY_ADDRESS", "127.0.0.2:6379", 1);
    check_found(NULL, "127.0.0.2:6379", "RAY_ADDRESS");
    check_found("127.0.0.1:6379", "127.0.0.1:6379", "--address");
    check_found("", "127.0.0.2:6379", "RAY_ADDRESS"); /* empty is unset */
    setenv("RAY_ADDRESS", "", 1);
    check_found(NULL, "http://127.0.0.3:8265", "RAY_API_SERVER_ADDRESS");
    free(file);
}

static void auto_skips_to_the_file(void **state)
{
    (void)state;
    char *file = path_of("ray/ray_current_cluster");
    write_current(" 127.0.0.4:6379\n");
    setenv("RAY_API_SERVER_ADDRESS", "http://127.0.0.3:8265", 1);
    setenv("RAY_ADDRESS", "127.0.0.2:6379", 1);
    check_found("auto", "127.0.0.4:6379", file);
    check_found(" auto\n", "127.0.0.4:6379", file);
    setenv("RAY_ADDRESS", "auto", 1);
    check_found(NULL, "127.0.0.4:6379", file);
    setenv("RAY_ADDRESS", " ", 1);
    check_found(NULL, "127.0.0.4:6379", file);
    free(file);
}

/* What was set on purpose is never passed over. */
static void nonsense_is_not_passed_over(void **state)
{
    struct cluster_address address;
    struct err err = {0};
    (void)state;
    write_current("127.0.0.4:6379");
    setenv("RAY_API_SERVER_ADDRESS", "http://127.0.0.3:8265", 1);
    setenv("RAY_ADDRESS", "nonsense", 1);
    assert_int_equal(cluster_address_find(&address, NULL, &err), -1);
    assert_int_equal(err.code, ERR_USAGE);
    assert_non_null(strstr(err.what, "RAY_ADDRESS: \"nonsense\""));
    assert_int_equal(cluster_address_find(&address, "worse", &err), -1);
    assert_non_null(strstr(err.what, "--address: \"worse\""));
    unsetenv("RAY_ADDRESS");
    unsetenv("RAY_API_SERVER_ADDRESS");
    write_current("nonsense");
    assert_int_equal(cluster_address_find(&address, NULL, &err), -1);
    assert_non_null(strstr(err.what, "ray_current_cluster: \"nonsense\""));
}

/* /tmp is everybody's: what stands in that file is not to act on a terminal. */
static void a_files_text_is_made_printable(void **state)
{
    struct cluster_address address;
    struct err err = {0};
    (void)state;
    write_current("\033]0;owned\007x");
    assert_int_equal(cluster_address_find(&address, NULL, &err), -1);
    assert_null(strchr(err.what, '\033'));
    assert_null(strchr(err.what, '\007'));
    assert_non_null(strstr(err.what, "?]0;owned?x"));
}

static void tmpdir_where_there_is_no_ray_tmpdir(void **state)
{
    (void)state;
    write_current("127.0.0.4:6379");
    setenv("RAY_TMPDIR", "", 1);
    setenv("TMPDIR", directory, 1);
    check_found(NULL, "127.0.0.4:6379", NULL);
    setenv("RAY_TMPDIR", "/nonexistent", 1); /* goes before TMPDIR */
    struct cluster_address address;
    struct err err;
    if (cluster_address_find(&address, NULL, &err) ==
        0) /* a raylet of somebody else's may run here */
        assert_string_equal(address.source, "a raylet's command line");
}

/* --- what an address looks like --- */

static void gcs_addresses(void **state)
{
    (void)state;
    check_found("127.0.0.1:6379", "127.0.0.1:6379", NULL);
    check_found(" head.example:6379\n", "head.example:6379", NULL);
    check_found("[::1]:6379", "[::1]:6379", NULL);
    check_found("localhost:065", "localhost:65", NULL);
    check_found("h:65535", "h:65535", NULL);
}

static void malformed_gcs_addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {"head",     "head:",     "head:0",      "head:65536",
                                      "head:-1",  "head:63x9", "head:6379:1", ":6379",
                                      "::1:6379", "[::1]",     "[]:6379",     "[::1:6379",
                                      "10.0.0.1", "6379",      "a:+1",        "localhost: 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_refused(bad[i], "it is not HOST:PORT");
    check_refused("a b:6379", "its host makes no sense");
    check_refused("a\tb:6379", "its host makes no sense");
    check_refused("head/x:6379", "its host makes no sense");
}

static void dashboard_addresses(void **state)
{
    (void)state;
    check_found("http://127.0.0.1:8265", "http://127.0.0.1:8265", NULL);
    check_found("https://ray.example", "https://ray.example", NULL);
    check_found("http://127.0.0.1:8265/", "http://127.0.0.1:8265", NULL);
    check_found("http://127.0.0.1:8265/#/overview", "http://127.0.0.1:8265", NULL);
    check_found("https://gate.example/ray///", "https://gate.example/ray", NULL);
    check_found("http://[::1]:8265", "http://[::1]:8265", NULL);
    check_found("http://[::1]", "http://[::1]", NULL);
    check_found("https://gate.example:444/a/b", "https://gate.example:444/a/b", NULL);
}

static void malformed_dashboard_addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {"http://",         "https:///",        "http://head:0",
                                      "http://head:x",   "http://:8265",     "http://#",
                                      "http://::1:8265", "http://head:8265x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_refused(bad[i], "its host or port makes no sense");
    check_refused("http://head:8265/?x=1", "a dashboard's URL has no query");
    check_refused("http://me:secret@head:8265", "RAY_AUTH_TOKEN");
    check_refused("http://a b:8265", "white space");
    check_refused("http://head:8265/a\033b", "white space");
}

static void other_schemes_are_refused(void **state)
{
    (void)state;
    check_refused("ray://127.0.0.1:10001", "Ray Client");
    check_refused("ftp://127.0.0.1:6379", "only http:// and https:// URLs");
    check_refused("grpc://127.0.0.1:6379", "only http:// and https:// URLs");
    check_refused("local", "new cluster");
}

static void long_addresses_are_refused(void **state)
{
    struct cluster_address address;
    char *text = mem_alloc(2001);
    (void)state;
    memset(text, 'a', 2000);
    memcpy(text + 1994, ":6379", 6);
    check_refused(text, "it is too long");
    text[400] = '\0'; /* fits, but for a host name */
    strcpy(text + 395, ":6379");
    check_refused(text, "it is not HOST:PORT");
    memcpy(text, "http://", 7);
    check_found(text, text, NULL);
    assert_true(strlen(text) < sizeof address.text);
    free(text);
}

/* --- raylets --- */

static int from_raylets(struct cluster_address *address, struct err *err)
{
    char *proc = path_of("proc");
    *address = (struct cluster_address){0};
    *err = (struct err){0};
    int result = cluster_address_from_raylets(address, proc, err);
    free(proc);
    return result;
}

/* `command` has a NUL at its end, and between the arguments. */
static void add_process(const char *pid, const char *command, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "proc/%s", pid);
    make_directory(name);
    snprintf(name, sizeof name, "proc/%s/cmdline", pid);
    write_file(name, command, size);
}

#define PROCESS(pid, command) add_process(pid, command, sizeof(command))

static void no_raylets(void **state)
{
    struct cluster_address address;
    struct err err;
    (void)state;
    PROCESS("1", "/sbin/init");
    PROCESS("7", "/ray/gcs_server\0--gcs-address=10.0.0.1:6379");
    PROCESS("8", "python\0raylet\0--gcs-address=10.0.0.2:6379");
    PROCESS("9", "/ray/raylet\0--other=1\0--gcs-address=");
    PROCESS("10", "");
    PROCESS("self", "/ray/raylet\0--gcs-address=10.0.0.4:6379");
    make_directory("proc/11"); /* gone, or not ours to read */
    assert_int_equal(from_raylets(&address, &err), -1);
    assert_int_equal(err.code, ERR_UNREACHABLE);
    assert_non_null(strstr(err.hint, "--address HOST:6379"));
    assert_non_null(strstr(err.hint, "\"address\"")); /* an editor has no command line */
}

static void proc_that_cannot_be_read(void **state)
{
    struct cluster_address address;
    struct err err = {0};
    (void)state;
    assert_int_equal(cluster_address_from_raylets(&address, "/nonexistent", &err), -1);
    assert_int_equal(err.code, ERR_UNREACHABLE);
}

/* Two nodes of one cluster on one machine are one cluster. */
static void raylets_of_one_cluster(void **state)
{
    struct cluster_address address;
    struct err err;
    (void)state;
    PROCESS("20", "/opt/ray/raylet\0--x=1\0--gcs-address=10.0.0.1:6379\0--y");
    PROCESS("21", "raylet\0--gcs-address=10.0.0.1:6379");
    assert_int_equal(from_raylets(&address, &err), 0);
    assert_string_equal(address.text, "10.0.0.1:6379");
    assert_string_equal(address.source, "a raylet's command line");
    assert_int_equal(address.kind, CLUSTER_ADDRESS_GCS);
}

static void raylets_of_several_clusters(void **state)
{
    struct cluster_address address;
    struct err err;
    (void)state;
    PROCESS("20", "/opt/ray/raylet\0--gcs-address=10.0.0.1:6379");
    PROCESS("21", "/opt/ray/raylet\0--gcs-address=10.0.0.2:\0336379");
    assert_int_equal(from_raylets(&address, &err), -1);
    assert_int_equal(err.code, ERR_USAGE);
    assert_non_null(strstr(err.what, "2 Ray clusters"));
    assert_non_null(strstr(err.why, "10.0.0.1:6379"));
    assert_non_null(strstr(err.why, "10.0.0.2:?6379"));
    assert_non_null(strstr(err.hint, "--address"));
}

static void a_raylet_whose_address_makes_no_sense(void **state)
{
    struct cluster_address address;
    struct err err;
    (void)state;
    PROCESS("20", "/opt/ray/raylet\0--gcs-address=nonsense");
    assert_int_equal(from_raylets(&address, &err), -1);
    assert_int_equal(err.code, ERR_USAGE);
    assert_non_null(strstr(err.what, "a raylet's command line: \"nonsense\""));
}

/* "auto" leaves the address unset: that is an error of its own, with words. */
static void a_raylet_that_says_auto(void **state)
{
    struct cluster_address address;
    struct err err;
    (void)state;
    PROCESS("20", "/opt/ray/raylet\0--gcs-address=auto");
    assert_int_equal(from_raylets(&address, &err), -1);
    assert_int_not_equal(err.code, ERR_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_source_in_its_turn),
        TEST(auto_skips_to_the_file),
        TEST(nonsense_is_not_passed_over),
        TEST(a_files_text_is_made_printable),
        TEST(tmpdir_where_there_is_no_ray_tmpdir),
        TEST(gcs_addresses),
        TEST(malformed_gcs_addresses),
        TEST(dashboard_addresses),
        TEST(malformed_dashboard_addresses),
        TEST(other_schemes_are_refused),
        TEST(long_addresses_are_refused),
        TEST(no_raylets),
        TEST(proc_that_cannot_be_read),
        TEST(raylets_of_one_cluster),
        TEST(raylets_of_several_clusters),
        TEST(a_raylet_whose_address_makes_no_sense),
        TEST(a_raylet_that_says_auto),
    };
    return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
