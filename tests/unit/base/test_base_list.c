/* Singly linked lists. */
#include "cmocka_prelude.h"

#include "base/list.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct item {
    struct item *next;
    int number;
};

static int sum(const struct item *first)
{
    int all = 0;
    for (; first; first = first->next)
        all = 10 * all + first->number;
    return all;
}

static void items_come_and_go(void **state)
{
    (void)state;
    struct item items[] = {{NULL, 1}, {NULL, 2}, {NULL, 3}}, other = {NULL, 4};
    struct item *first = NULL;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        LIST_APPEND(first, &items[i]);
    assert_int_equal(sum(first), 123);
    LIST_REMOVE(first, &items[1]);
    assert_int_equal(sum(first), 13);
    LIST_REMOVE(first, &items[2]);
    assert_int_equal(sum(first), 1);
    LIST_DROP(first, &other);
    assert_int_equal(sum(first), 1);
    LIST_DROP(first, &items[0]);
    assert_null(first);
    LIST_DROP(first, &items[0]);
    assert_null(first);
}

static void take_note(struct item *item)
{
    item->number = -1;
}

static void all_are_freed(void **state)
{
    (void)state;
    struct item items[] = {{NULL, 1}, {NULL, 2}}, *first = NULL;
    LIST_FREE(first, take_note);
    LIST_APPEND(first, &items[0]);
    LIST_APPEND(first, &items[1]);
    LIST_FREE(first, take_note);
    assert_null(first);
    assert_int_equal(items[0].number, -1);
    assert_int_equal(items[1].number, -1);
}

static void what_is_not_in_the_list_is_a_fault(void **state)
{
    (void)state;
    struct item here = {NULL, 1}, other = {NULL, 2}, *first = &here;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        LIST_REMOVE(first, &other);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_and_go),
        cmocka_unit_test(all_are_freed),
        cmocka_unit_test(what_is_not_in_the_list_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
