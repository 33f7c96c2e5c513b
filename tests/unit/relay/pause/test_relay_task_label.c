/* What the threads of many tasks are called. */
#include "cmocka_prelude.h"

#include "relay/pause/task_label.h"

#include <stdlib.h>

static struct pause sample(void)
{
    return (struct pause){.task_name = "Trainer.step",
                          .actor_class = "Trainer",
                          .job_id = "01000000",
                          .node_ip = "10.0.0.7",
                          .node_name = "node-2",
                          .pid = 811};
}

static void check(const char *format, const struct pause *pause, const char *rank,
                  const char *thread, const char *expected)
{
    char *name = task_label(format, pause, rank, thread);
    assert_string_equal(name, expected);
    free(name);
}

static void test_what_tells_tasks_apart_comes_first(void **state)
{
    (void)state;
    struct pause pause = sample();
    check(NULL, &pause, "3", NULL, "rank 3 Trainer.step 10.0.0.7 pid 811");
    check(NULL, &pause, "3", "thread-2", "rank 3 thread-2 Trainer.step 10.0.0.7 pid 811");
    check(NULL, &pause, NULL, NULL, "pid 811 Trainer.step 10.0.0.7");
    check(NULL, &pause, NULL, "thread-2", "pid 811 thread-2 Trainer.step 10.0.0.7");
    pause.actor_name = "bob";
    check(NULL, &pause, NULL, NULL, "bob Trainer.step 10.0.0.7 pid 811");
    pause.actor_name = "";
    check(NULL, &pause, NULL, NULL, "pid 811 Trainer.step 10.0.0.7");
}

static void test_little_is_known(void **state)
{
    (void)state;
    struct pause pause = {.pid = 5};
    check(NULL, &pause, NULL, NULL, "pid 5 task");
    pause.actor_class = "Trainer";
    check(NULL, &pause, NULL, NULL, "pid 5 Trainer");
    check("{rank}", &pause, NULL, NULL, "");
}

static void test_the_user_s_template(void **state)
{
    (void)state;
    struct pause pause = sample();
    check("{job} {class}/{host} {rank} [{thread}]", &pause, NULL, "T-1", "01 Trainer/node-2 [T-1]");
    check("{task}{unknown}{", &pause, NULL, NULL, "Trainer.step{unknown}{");
    check("{actor}", &pause, NULL, NULL, "");
    pause.task_name = "a\x1b[31mb";
    check("{task}", &pause, NULL, NULL, "a?[31mb");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_tells_tasks_apart_comes_first),
        cmocka_unit_test(test_little_is_known),
        cmocka_unit_test(test_the_user_s_template),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
