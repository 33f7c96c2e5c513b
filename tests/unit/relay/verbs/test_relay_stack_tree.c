/* Many stacks as one tree. */
#include "cmocka_prelude.h"

#include "relay/verbs/stack_tree.h"

#include <stdio.h>
#include <string.h>

static void add(struct stack_tree *tree, int64_t rank, const char *frames)
{
    char name[64];
    snprintf(name, sizeof name, "rank %lld", (long long)rank);
    const struct task_list_item who = {rank + 1, rank, name};
    stack_tree_add(tree, &who, rank >= 7, frames, (struct span){0, strlen(frames)});
}

#define FRAME(id, name, file, line)                                                                \
    "{\"id\":" #id ",\"name\":\"" name "\",\"line\":" #line ",\"source\":{\"path\":\"/a/" file     \
    "\"}}"
#define RAYS                                                                                       \
    "{\"id\":9,\"name\":\"main_loop\",\"line\":5,\"presentationHint\":\"subtle\","                 \
    "\"source\":{\"path\":\"/x/ray/worker.py\"}}"
#define OUTER FRAME(2, "Trainer.step", "train.py", 57) "," FRAME(3, "run", "train.py", 80) "," RAYS
#define WAITS "[" FRAME(1, "wait", "train.py", 41) "," OUTER "]"
#define REDUCES "[" FRAME(1, "allreduce", "comm.py", 49) "," OUTER "]"
#define AT_STEP "[" OUTER "]"

static void test_equal_stacks_are_one(void **state)
{
    (void)state;
    struct stack_tree *tree = stack_tree_create(false);
    struct buf out = {0};
    for (int rank = 0; rank < 5; rank++)
        add(tree, rank, WAITS);
    stack_tree_text(tree, &out);
    assert_string_equal(
        out.data, "5 tasks, 1 different stack\n"
                  "  run  train.py:80                                          5\n"
                  "  Trainer.step  train.py:57                                 5\n"
                  "  wait  train.py:41                                         5  rank 0-4\n");
    buf_free(&out);
    stack_tree_destroy(&tree);
}

static void test_forks_and_stacks_that_end_on_the_way(void **state)
{
    (void)state;
    struct stack_tree *tree = stack_tree_create(false);
    struct buf out = {0};
    const struct task_list_item runs = {9, 8, "rank 8 runs"};
    add(tree, 7, REDUCES);
    for (int rank = 0; rank < 5; rank++)
        add(tree, rank, WAITS);
    add(tree, 5, AT_STEP);
    stack_tree_skip(tree, &runs, "running");
    stack_tree_text(tree, &out);
    assert_string_equal(
        out.data, "7 tasks, 3 different stacks\n"
                  "  run  train.py:80                                          7\n"
                  "  Trainer.step  train.py:57                                 7  1 here: rank 5\n"
                  "  ├─ wait  train.py:41                                      5  rank 0-4\n"
                  "  └─ allreduce  comm.py:49                                  1  rank 7\n"
                  "  running: rank 7\n"
                  "  not shown: rank 8 runs (running)\n");
    buf_clear(&out, 0);
    stack_tree_json(tree, &out);
    assert_non_null(strstr(
        out.data, "{\"tasks\":7,\"stacks\":3,\"tree\":[{\"frames\":[{\"name\":\"run\",\"path\":"
                  "\"/a/train.py\",\"line\":80},{\"name\":\"Trainer.step\""));
    assert_non_null(strstr(out.data, "\"count\":7,\"ending\":1,\"tasks\":\"rank 0-5, 7\","
                                     "\"threadIds\":[1,2,3,4,5,6,8],\"children\":[{\"frames\":[{"
                                     "\"name\":\"wait\""));
    assert_non_null(strstr(out.data,
                           "\"running\":[8],\"notShown\":[{\"threadId\":9,\"name\":\"rank 8 runs\","
                           "\"why\":\"running\"}]}"));
    buf_free(&out);
    stack_tree_destroy(&tree);
}

static void test_two_lines_of_a_function_are_two_locations(void **state)
{
    (void)state;
    struct stack_tree *tree = stack_tree_create(false);
    struct buf out = {0};
    add(tree, 0, "[" FRAME(1, "wait", "train.py", 41) "]");
    add(tree, 1, "[" FRAME(1, "wait", "train.py", 42) "]");
    stack_tree_text(tree, &out);
    assert_non_null(strstr(out.data, "2 tasks, 2 different stacks\n  wait  train.py:41 "));
    buf_free(&out);
    stack_tree_destroy(&tree);
}

static void test_rays_frames(void **state)
{
    (void)state;
    struct stack_tree *tree = stack_tree_create(true);
    struct buf out = {0};
    add(tree, 0, WAITS);
    stack_tree_text(tree, &out);
    assert_non_null(strstr(out.data, "main_loop  worker.py:5"));
    stack_tree_destroy(&tree);
    tree = stack_tree_create(false);
    add(tree, 0, "[" RAYS "]"); /* better than nothing */
    add(tree, 1, "[]");
    add(tree, 2, "{}");
    buf_clear(&out, 0);
    stack_tree_text(tree, &out);
    assert_non_null(strstr(out.data, "1 task, 1 different stack\n  main_loop  worker.py:5"));
    assert_non_null(strstr(out.data, "not shown: rank 2 (it has no stack)"));
    buf_free(&out);
    stack_tree_destroy(&tree);
}

static void test_a_recursion_of_a_thousand_frames(void **state)
{
    (void)state;
    struct stack_tree *tree = stack_tree_create(false);
    struct buf frames = {0}, out = {0};
    for (int i = 0; i < 3000; i++)
        buf_printf(&frames, "%s{\"id\":%d,\"name\":\"f\",\"line\":3}", i ? "," : "[", i);
    buf_add_string(&frames, "]");
    add(tree, 0, frames.data);
    add(tree, 1, frames.data);
    stack_tree_text(tree, &out);
    assert_non_null(strstr(out.data, "2 tasks, 1 different stack\n"));
    stack_tree_json(tree, &out);
    buf_free(&frames);
    buf_free(&out);
    stack_tree_destroy(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_stacks_are_one),
        cmocka_unit_test(test_forks_and_stacks_that_end_on_the_way),
        cmocka_unit_test(test_two_lines_of_a_function_are_two_locations),
        cmocka_unit_test(test_rays_frames),
        cmocka_unit_test(test_a_recursion_of_a_thousand_frames),
    };
    return cmocka_run_group_tests_name("stack_tree", tests, NULL, NULL);
}
