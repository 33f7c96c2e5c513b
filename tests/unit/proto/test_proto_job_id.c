/* A job's id as people write it. */
#include "cmocka_prelude.h"

#include "proto/job_id.h"

static void check_brief(const char *job_id, const char *expected)
{
    char out[ID_TEXT(ID_JOB_BYTES)];
    assert_string_equal(job_id_brief(job_id, out), expected);
}

static void in_short(void **state)
{
    (void)state;
    check_brief("01000000", "01");
    check_brief("0a010000", "0a01");
    check_brief("00010000", "0001");
    check_brief("01020304", "01020304");
    check_brief("10000000", "10");
    check_brief("00000000", "00");
    check_brief("", "");
}

static void is_the_job(void **state)
{
    (void)state;
    assert_true(job_id_is("0a000000", "0a"));
    assert_true(job_id_is("0a000000", "0A"));
    assert_true(job_id_is("0a000000", "0a000000"));
    assert_false(job_id_is("0a000000", "0a00"));
    assert_false(job_id_is("0a000000", "a"));
    assert_false(job_id_is("0a000000", ""));
    assert_false(job_id_is("", ""));
    /* The 1st and the 257th job of a cluster. */
    assert_false(job_id_is("01010000", "01"));
    assert_true(job_id_is("01010000", "0101"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_short),
        cmocka_unit_test(is_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
