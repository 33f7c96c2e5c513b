/* Values of many tasks: grouped, counted, judged. */
#include "cmocka_prelude.h"

#include "relay/verbs/compare.h"

#include "dap/scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add(struct compare *compare, int64_t rank, enum compare_outcome outcome,
                const char *text)
{
    char name[64];
    snprintf(name, sizeof name, "rank %lld Trainer.step pid %lld", (long long)rank,
             (long long)(800 + rank));
    const struct task_list_item who = {rank + 1, rank, name};
    compare_add(compare, &who, outcome, text, "float");
}

static struct compare *losses(void)
{
    struct compare *compare = compare_create("loss");
    for (int64_t rank = 23; rank >= 0; rank--)
        add(compare, rank, COMPARE_VALUE, rank == 7 ? "nan" : rank == 19 ? "1e+30" : "0.6931");
    return compare;
}

static void test_numbers_as_python_writes_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double number;
    } numbers[] = {
        {"3", 3},
        {"-2.5", -2.5},
        {"1e+30", 1e30},
        {"inf", INFINITY},
        {"-inf", -INFINITY},
        {"np.float64(0.5)", 0.5},
        {"numpy.float32(0.5)", 0.5},
        {"array(3.)", 3},
        {"tensor(0.25)", 0.25},
        {"tensor(-0.25, device='cuda:0', grad_fn=<MeanBackward0>)", -0.25},
        {"tensor(1.)", 1},
        {"Array(0.5, dtype=float32)", 0.5},
        {"Decimal('1.5')", 1.5},
        {"<tf.Tensor: shape=(), dtype=float32, numpy=0.5>", 0.5},
        {"123456789012345678901234567890", 123456789012345678901234567890.0},
    };
    static const char *const others[] = {
        "",
        "True",
        "None",
        "'3'",
        "tensor([0.5])",
        "array([1, 2])",
        "0x10",
        "infinity",
        "nano",
        "3 apples",
        "(3)",
        "f(3)",
        "tensor(",
        "tensor(3",
        "Decimal('1.5)",
        "1_000",
        "[1]",
        "3.5j",
        "np.array(x)",
        "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.])>",
    };
    double number;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!compare_number(numbers[i].text, &number))
            fail_msg("%s is a number", numbers[i].text);
        assert_true(number == numbers[i].number);
    }
    assert_true(compare_number("nan", &number) && isnan(number));
    assert_true(compare_number("np.float64(nan)", &number) && isnan(number));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (compare_number(others[i], &number))
            fail_msg("%s is no number", others[i]);
}

static size_t judge(const double *values, size_t count, bool *outliers)
{
    struct compare_numbers numbers;
    size_t found = 0;
    compare_judge(values, count, &numbers, outliers);
    for (size_t i = 0; i < count; i++)
        found += outliers[i];
    return found;
}

static void test_outliers(void **state)
{
    (void)state;
    bool marks[24];
    double values[24];
    for (int i = 0; i < 24; i++)
        values[i] = i;
    assert_int_equal(judge(values, 24, marks), 0);
    values[5] = 1000;
    assert_int_equal(judge(values, 24, marks), 1);
    assert_true(marks[5]);
    for (int i = 0; i < 24; i++)
        values[i] = 1;
    assert_int_equal(judge(values, 24, marks), 0);
    values[3] = 1.25; /* the median deviation is 0: one that differs is far from all others */
    assert_int_equal(judge(values, 24, marks), 1);
    for (int i = 0; i < 11; i++)
        values[i] = 1.25; /* two camps are no outliers */
    assert_int_equal(judge(values, 24, marks), 0);
    values[20] = NAN, values[21] = INFINITY;
    assert_int_equal(judge(values, 24, marks), 2);
    const double three[] = {1, 1, 1000};
    assert_int_equal(judge(three, 3, marks), 0);
    assert_int_equal(judge(NULL, 0, marks), 0);
    for (int i = 0; i < 24; i++)
        values[i] = i < 20 ? NAN : 1;
    assert_int_equal(judge(values, 24, marks), 0);
}

static void test_text(void **state)
{
    (void)state;
    struct compare *compare = losses();
    struct buf out = {0};
    add(compare, 24, COMPARE_ERROR, "NameError: name 'loss' is not defined");
    add(compare, 25, COMPARE_NOT_ASKED, "running");
    compare_text(compare, &out);
    assert_string_equal(out.data,
                        "loss · 25 tasks, 4 different\n"
                        "  0.6931                                 ████████████████████   22  "
                        "rank 0-6, 8-18, 20-23\n"
                        "  nan                                    █                       1  "
                        "rank 7 Trainer.step pid 807  ← outlier\n"
                        "  1e+30                                  █                       1  "
                        "rank 19 Trainer.step pid 819  ← outlier\n"
                        "  NameError: name 'loss' is not defined  █                       1  "
                        "rank 24 Trainer.step pid 824  (error)\n"
                        "  min 0.6931 · max 1e+30 · mean 4.34783e+28 · NaN 1\n"
                        "  ▁▁▁▁▁▁▁×▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁··\n"
                        "  not asked: rank 25 Trainer.step pid 825 (running)\n");
    buf_free(&out);
    compare_destroy(&compare);
}

static void test_long_and_many_values_are_cut(void **state)
{
    (void)state;
    struct compare *compare = compare_create("x");
    struct buf out = {0};
    char text[256];
    for (int64_t rank = 0; rank < 40; rank++) {
        snprintf(text, sizeof text,
                 "'%03d\x1b[31m ünïcode, and more of it than a line takes, by far'", (int)rank);
        add(compare, rank, COMPARE_VALUE, text);
    }
    compare_text(compare, &out);
    assert_non_null(strstr(out.data, "… and 8 more; --format csv has all\n"));
    assert_non_null(strstr(out.data, "  '000?[31m ünïcode, and more of it than a line t…  █"));
    assert_null(strchr(out.data, '\x1b'));
    buf_free(&out);
    compare_destroy(&compare);
}

static void check_path(const char *json, const char *path, const char *expected)
{
    struct scan scan;
    struct span whole, at;
    scan_init(&scan, json, strlen(json));
    assert_true(scan_value(&scan, &whole) && scan_end(&scan));
    assert_true(scan_path(json, whole, path, &at));
    assert_int_equal(at.len, strlen(expected));
    assert_memory_equal(json + at.at, expected, at.len);
}

static void test_json(void **state)
{
    (void)state;
    struct compare *compare = losses();
    struct buf out = {0};
    add(compare, 24, COMPARE_NOT_ASKED, "running");
    compare_json(compare, &out);
    check_path(out.data, "asked", "24");
    check_path(out.data, "statistics/nan", "1");
    check_path(out.data, "statistics/max", "1e+30");
    check_path(out.data, "sparkline", "\"▁▁▁▁▁▁▁×▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁·\"");
    check_path(out.data, "notAsked",
               "[{\"threadId\":25,\"rank\":24,\"name\":\"rank 24 Trainer.step pid 824\","
               "\"why\":\"running\"}]");
    assert_non_null(strstr(out.data, "{\"count\":1,\"value\":\"nan\",\"error\":null,"
                                     "\"type\":\"float\",\"number\":null,"
                                     "\"tasks\":\"rank 7 Trainer.step pid 807\","
                                     "\"outlier\":true,\"threadIds\":[8]}"));
    buf_free(&out);
    compare_destroy(&compare);
}

static void test_csv(void **state)
{
    (void)state;
    struct compare *compare = compare_create("x");
    struct buf out = {0};
    add(compare, 1, COMPARE_VALUE, "'a,\"b\"'");
    add(compare, 0, COMPARE_ERROR, "no");
    compare_csv(compare, &out);
    assert_string_equal(out.data,
                        "thread,rank,task,outcome,value,type,outlier\n"
                        "1,0,rank 0 Trainer.step pid 800,error,no,float,no\n"
                        "2,1,rank 1 Trainer.step pid 801,value,\"'a,\"\"b\"\"'\",float,no\n");
    buf_free(&out);
    compare_destroy(&compare);
}

static void test_nobody(void **state)
{
    (void)state;
    struct compare *compare = compare_create("x");
    struct buf out = {0};
    compare_text(compare, &out);
    compare_json(compare, &out);
    compare_csv(compare, &out);
    assert_non_null(strstr(out.data, "x · 0 tasks, 0 different\n"));
    assert_non_null(strstr(out.data, "\"groups\":[],\"statistics\":null"));
    buf_free(&out);
    compare_destroy(&compare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_as_python_writes_them),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_long_and_many_values_are_cut),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_nobody),
    };
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
