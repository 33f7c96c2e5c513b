/* A fault of our own ends the process where it is noticed, in every build. */
#include "cmocka_prelude.h"

#include "base/invariant.h"
#include "base/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct thing {
    uint32_t magic;
};
INVARIANT_MAGIC(thing, 0x12345678)
#define thing_checked(object) thing_checked_at(INVARIANT_HERE, object)

struct other {
    uint32_t magic;
};
INVARIANT_MAGIC(other, 0x12345679)
#define other_checked(object) other_checked_at(INVARIANT_HERE, object)

static void as_another(void)
{
    struct other *other = mem_alloc(sizeof *other);
    other_set_magic(other);
    thing_checked(other);
    other_clear_magic(other_checked(other));
    free(other);
}

static void as_nothing(void)
{
    thing_checked(NULL);
}

static void cleared(void)
{
    struct thing thing;
    thing_set_magic(&thing);
    thing_clear_magic(&thing);
    thing_checked(&thing);
}

static void cleared_twice(void)
{
    struct thing thing;
    thing_set_magic(&thing);
    thing_clear_magic(&thing);
    thing_clear_magic(&thing);
}

static const struct invariant_state states[] = {
    {"here", INVARIANT_TO(1)}, {"there", INVARIANT_TO(2) | INVARIANT_TO(0)}, {"gone", 0}};

static void back_from_gone(void)
{
    invariant_move(INVARIANT_HERE, "thing", states, 2, 0);
}

static void not_to_itself(void)
{
    invariant_move(INVARIANT_HERE, "thing", states, 0, 0);
}

static void never_true(void)
{
    invariant(getpid() == 0);
}

/* What it says on stderr, if it ends by abort(). */
static char *last_words(void (*fault)(void))
{
    int ends[2], status;
    char said[1024];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        fault();
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t got; (got = read(ends[0], said + len, sizeof said - 1 - len)) > 0;)
        len += (size_t)got;
    said[len] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    return mem_string(said);
}

static void test_a_fault_ends_the_process(void **state)
{
    (void)state;
    static const struct {
        void (*fault)(void);
        const char *says;
    } faults[] = {
        {as_another, "in as_another(): this is no thing: its number is 0x12345679, not 0x12345678"},
        {as_nothing, "in as_nothing(): NULL is no thing"},
        {cleared,
         "in cleared(): this is no thing, or one that was freed: its number is 0x00000000"},
        {cleared_twice, "this is no thing, or one that was freed: its number is 0x00000000"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char *said = last_words(faults[i].fault);
        assert_non_null(strstr(said, "test_base_invariant.c:"));
        assert_non_null(strstr(said, faults[i].says));
        free(said);
    }
}

static void test_it_says_where(void **state)
{
    (void)state;
    char *said = last_words(never_true);
    assert_non_null(strstr(said, "test_base_invariant.c:"));
    assert_non_null(strstr(said, "in never_true(): not getpid() == 0"));
    free(said);
}

static void test_a_move_that_is_not_allowed(void **state)
{
    (void)state;
    char *said = last_words(back_from_gone);
    assert_non_null(strstr(said, "the thing cannot go from gone to here"));
    free(said);
    free(last_words(not_to_itself));
    invariant_move(INVARIANT_HERE, "thing", states, 0, 1);
    invariant_move(INVARIANT_HERE, "thing", states, 1, 2);
}

static void test_what_holds_passes(void **state)
{
    (void)state;
    struct thing thing;
    thing_set_magic(&thing);
    assert_ptr_equal(thing_checked(&thing), &thing);
    thing_clear_magic(&thing);
    assert_int_equal(thing.magic, 0);
    invariant(thing.magic == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fault_ends_the_process),
        cmocka_unit_test(test_it_says_where),
        cmocka_unit_test(test_a_move_that_is_not_allowed),
        cmocka_unit_test(test_what_holds_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
