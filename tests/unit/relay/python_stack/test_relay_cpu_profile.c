/* py-spy's folded stacks, and those of many processes as one profile. */
#include "cmocka_prelude.h"

#include "relay/python_stack/cpu_profile.h"
#include "relay/python_stack/folded_stack.h"

#include <stdlib.h>
#include <string.h>

static void expect_frame(const struct python_frame *frame, const char *function, const char *file,
                         int64_t line)
{
    assert_string_equal(frame->function, function);
    assert_string_equal(frame->file, file);
    assert_int_equal(frame->line, line);
}

/* As py-spy 0.4.3 has written it. */
static void a_real_text(void **state)
{
    (void)state;
    static const char text[] = " 1\n"
                               "<module> (b.py:8);weird (a;b (x).py:3);inner (b.py:4) 442\n"
                               "_start (ray::burn);operator() (lib/x.so);0x7f3a 7";
    const char *at = text;
    struct folded_stack stack;
    assert_true(folded_stack_is_text(text));
    at += folded_stack_read(at, &stack);
    assert_int_equal(stack.frames.count, 0);
    assert_int_equal(stack.count, 1);
    folded_stack_clear(&stack);
    at += folded_stack_read(at, &stack);
    assert_int_equal(stack.frames.count, 3);
    assert_int_equal(stack.count, 442);
    expect_frame(&stack.frames.frames[0], "inner", "b.py", 4);
    expect_frame(&stack.frames.frames[1], "weird", "a;b (x).py", 3);
    expect_frame(&stack.frames.frames[2], "<module>", "b.py", 8);
    folded_stack_clear(&stack);
    at += folded_stack_read(at, &stack);
    assert_int_equal(stack.frames.count, 3);
    expect_frame(&stack.frames.frames[0], "0x7f3a", "", 0);
    expect_frame(&stack.frames.frames[1], "operator()", "lib/x.so", 0);
    folded_stack_clear(&stack);
    assert_int_equal(*at, '\0');
}

static void what_is_no_profile(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\n", "nonsense", "f (a.py:1)", "f (a.py:1) x",          "f (a.py:1) -1", "f (a.py:1)1",
        "1",  "f 1\n\n",  "f 1\ng",     "f (a.py:1) 1234567890", "f 1.5",         "f 1 "};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(folded_stack_is_text(texts[i]));
    assert_true(folded_stack_is_text(""));
    assert_true(folded_stack_is_text("f (a.py:1) 999999999\n"));
    struct buf deep = {0};
    for (size_t i = 0; i < FOLDED_STACK_DEPTH; i++)
        buf_printf(&deep, "%sf (a.py:%zu)", i ? ";" : "", i + 1);
    size_t len = deep.len;
    buf_add_string(&deep, " 1");
    assert_true(folded_stack_is_text(deep.data));
    deep.len = len;
    buf_add_string(&deep, ";f (a.py:1) 1");
    assert_false(folded_stack_is_text(deep.data));
    buf_free(&deep);
}

/* --- profiles --- */

struct world {
    struct ray_node node;
    struct ray_worker workers[4];
    struct why_records records;
    struct cpu_profile *profile;
};

static void open_world(struct world *world, bool full)
{
    *world = (struct world){0};
    memset(world->node.node_id, 'd', 56);
    world->node.ip = (char *)"10.0.0.7";
    world->node.is_alive = true;
    for (size_t i = 0; i < 4; i++) {
        memset(world->workers[i].worker_id, (char)('a' + i), 56);
        strcpy(world->workers[i].node_id, world->node.node_id);
        world->workers[i].pid = 100 + (int64_t)i;
        world->workers[i].is_alive = true;
    }
    world->records = (struct why_records){
        .nodes = &world->node, .node_count = 1, .workers = world->workers, .worker_count = 4};
    world->profile = cpu_profile_create(&world->records, full);
}

static const struct cpu_function *function_of(const struct cpu_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->function_count; i++)
        if (strcmp(profile->frames[profile->functions[i].frame].function, name) == 0)
            return &profile->functions[i];
    return NULL;
}

static void expect_function(const struct world *world, const char *name, int64_t line,
                            uint64_t self, uint64_t total, size_t processes)
{
    const struct cpu_function *function = function_of(world->profile, name);
    assert_non_null(function);
    assert_int_equal(function->self, self);
    assert_int_equal(function->total, total);
    assert_int_equal(function->processes, processes);
    assert_int_equal(world->profile->frames[function->frame].line, line);
}

#define RAYS                                                                                       \
    "<module> (ray/_private/workers/default_worker.py:323);main_loop (ray/_private/worker.py:1)"

static void profiles_add_up(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, false);
    cpu_profile_add(world.profile, &world.workers[0],
                    RAYS ";burn (app.py:40) 10\n" RAYS ";burn (app.py:41);inner (app.py:37) 90\n",
                    NULL);
    cpu_profile_add(world.profile, &world.workers[1],
                    RAYS ";burn (app.py:41);inner (app.py:37) 50\n" RAYS ";burn (app.py:41) 30\n",
                    NULL);
    assert_int_equal(world.profile->samples, 180);
    assert_int_equal(world.profile->nodes[0].total, 180);
    assert_int_equal(world.profile->nodes[0].processes, 2);
    assert_int_equal(world.profile->node_count, 4); /* Ray's frames are folded */
    assert_int_equal(world.profile->process_samples[0], 100);
    assert_int_equal(world.profile->process_samples[1], 80);
    expect_function(&world, "inner", 37, 140, 140, 2);
    expect_function(&world, "burn", 41, 40, 180, 2); /* the line that is hottest by itself */
    const struct cpu_function **hottest = cpu_profile_hottest(world.profile);
    assert_ptr_equal(hottest[0], function_of(world.profile, "inner"));
    free(hottest);
    cpu_profile_destroy(&world.profile);
}

static void recursion_counts_once(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, false);
    cpu_profile_add(world.profile, &world.workers[0],
                    "fib (a.py:2);fib (a.py:3);fib (a.py:2) 5\nfib (a.py:2) 2\n", NULL);
    expect_function(&world, "fib", 2, 7, 7, 1);
    assert_int_equal(world.profile->samples, 7);
    cpu_profile_destroy(&world.profile);
}

static void rays_own_code_is_folded(void **state)
{
    (void)state;
    static const char text[] =
        RAYS " 3\n" RAYS ";gets (app.py:5);get (ray/_private/worker.py:9) 4\n"
             "_bootstrap (threading.py:1);wait (threading.py:2) 2\n";
    struct world world;
    open_world(&world, false);
    cpu_profile_add(world.profile, &world.workers[0], text, NULL);
    cpu_profile_add(world.profile, &world.workers[1], RAYS " 6\n", NULL);
    assert_int_equal(world.profile->samples, 4);
    assert_int_equal(world.profile->left_out, 11);
    expect_function(&world, "ray.get", 0, 4, 4, 1);
    expect_function(&world, "gets", 5, 0, 4, 1);
    assert_null(world.profile->processes.items[0].reason);
    assert_non_null(strstr(world.profile->processes.items[1].reason, "--full"));
    cpu_profile_destroy(&world.profile);

    open_world(&world, true);
    cpu_profile_add(world.profile, &world.workers[0], text, NULL);
    assert_int_equal(world.profile->samples, 9);
    expect_function(&world, "get", 9, 4, 4, 1);
    expect_function(&world, "main_loop", 1, 3, 7, 1);
    cpu_profile_destroy(&world.profile);
}

static void each_process_has_its_reason(void **state)
{
    (void)state;
    struct world world;
    struct buf out = {0};
    struct err err;
    open_world(&world, false);
    cpu_profile_add(world.profile, &world.workers[0], "f (a.py:1) 1\nnonsense", NULL);
    cpu_profile_add(world.profile, &world.workers[1], "", NULL);
    cpu_profile_add(
        world.profile, &world.workers[2], NULL,
        "Failed to execute `['py-spy']`.\n\n=== stderr ===\nError: it is \033[31mnew\nx");
    assert_int_equal(world.profile->samples, 0);
    assert_int_equal(process_list_problem(&world.profile->processes, "profile", &err), -1);
    assert_string_equal(err.what, "no profile of process 100@10.0.0.7");
    cpu_profile_add(world.profile, &world.workers[3], "f (a.py:1) 1\n", NULL);
    assert_int_equal(world.profile->samples, 1); /* nothing of the first one's first line */
    process_list_text(&world.profile->processes, &out);
    assert_string_equal(out.data,
                        "  not shown: 1 process, its profile is not one of py-spy's: 100@10.0.0.7\n"
                        "  not shown: 1 process, it used no CPU: 101@10.0.0.7\n"
                        "    --idle counts threads that wait, too, with Ray 2.60 or later\n"
                        "  not shown: 1 process, Error: it is ?[31mnew: 102@10.0.0.7\n");
    buf_free(&out);
    cpu_profile_destroy(&world.profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_text),
        cmocka_unit_test(what_is_no_profile),
        cmocka_unit_test(profiles_add_up),
        cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(rays_own_code_is_folded),
        cmocka_unit_test(each_process_has_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
