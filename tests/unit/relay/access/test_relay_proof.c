/* Proofs that a token is known: each depends on everything that it is about, and a challenge is
 * good once. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "relay/access/challenges.h"
#include "relay/access/proof.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef-driver"
#define NONCE "abababababababababababababababababababababababababababababababab"

/* In place of libc's: a machine whose network namespace cannot be read. */
static bool without_network;

ssize_t readlink(const char *path, char *out, size_t size)
{
    return without_network ? -1 : syscall(SYS_readlinkat, AT_FDCWD, path, out, size);
}

static void each_part_counts(void **state)
{
    static const struct proof_exchange exchanges[] = {
        {"id", "anywhere", "c", "r"},           {"ID", "anywhere", "c", "r"},
        {"id", "here m 127.0.0.1:1", "c", "r"}, {"id", "here n 127.0.0.1:1", "c", "r"},
        {"id", "here m 127.0.0.1:2", "c", "r"}, {"id", "anywhere", "C", "r"},
        {"id", "anywhere", "c", "R"},
    };
    enum { COUNT = sizeof exchanges / sizeof *exchanges, PROOFS = 2 * COUNT + 4 };
    char *proofs[PROOFS];
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        proofs[2 * i] = proof_of_relay(TOKEN, &exchanges[i]);
        proofs[2 * i + 1] = proof_of_client(TOKEN, &exchanges[i], "GET", "/dap");
    }
    proofs[2 * COUNT] = proof_of_client(TOKEN, &exchanges[0], "POST", "/dap");
    proofs[2 * COUNT + 1] = proof_of_client(TOKEN, &exchanges[0], "GET", "/events");
    proofs[2 * COUNT + 2] = proof_of_client("0123456789abcdef", &exchanges[0], "GET", "/dap");
    proofs[2 * COUNT + 3] = proof_of_relay("0123456789abcdef", &exchanges[0]);
    for (size_t i = 0; i < PROOFS; i++)
        for (size_t j = 0; j < PROOFS; j++)
            assert_int_equal(proof_equal(proofs[i], proofs[j]), i == j);
    for (size_t i = 0; i < PROOFS; i++) {
        assert_true(proof_is_hex(proofs[i], PROOF_ROOM - 1));
        free(proofs[i]);
    }
}

static void nothing_equals_no_proof(void **state)
{
    (void)state;
    assert_false(proof_equal(NULL, NULL));
    assert_false(proof_equal("", ""));
    assert_false(proof_equal("ab", NULL));
    assert_false(proof_equal("ab", "abc"));
    assert_true(proof_equal("ab", "ab"));
}

static void a_challenge_is_good_once(void **state)
{
    struct challenges *own = challenges_create(), *other = challenges_create();
    char nonce[CHALLENGE_ROOM], next[CHALLENGE_ROOM];
    (void)state;
    challenges_issue(own, NONCE, "anywhere", 1000, nonce);
    challenges_issue(own, NONCE, "anywhere", 1000, next);
    assert_string_not_equal(nonce, next);
    assert_true(challenges_valid(own, nonce, NONCE, "anywhere", 1000));
    assert_false(challenges_valid(other, nonce, NONCE, "anywhere", 1000));
    assert_false(challenges_valid(own, nonce, "cd", "anywhere", 1000));
    assert_false(challenges_valid(own, nonce, NONCE, "here", 1000));
    assert_true(challenges_valid(own, nonce, NONCE, "anywhere", 1000 + CHALLENGE_LIFE_MS - 1));
    assert_false(challenges_valid(own, nonce, NONCE, "anywhere", 1000 + CHALLENGE_LIFE_MS));
    assert_int_equal(challenges_used(own), 0); /* one that nobody used costs nothing */
    challenges_use(own, nonce, 1000);
    assert_false(challenges_valid(own, nonce, NONCE, "anywhere", 1000));
    assert_true(challenges_valid(own, next, NONCE, "anywhere", 1000));
    for (size_t i = 0; i < sizeof nonce - 1; i++) {
        char changed[CHALLENGE_ROOM];
        text_copy(changed, sizeof changed, next);
        changed[i] = changed[i] == '0' ? '1' : '0';
        assert_false(challenges_valid(own, changed, NONCE, "anywhere", 1000));
    }
    assert_false(challenges_valid(own, "", NONCE, "anywhere", 1000));
    next[20] = '\0';
    assert_false(challenges_valid(own, next, NONCE, "anywhere", 1000));
    challenges_destroy(&own);
    challenges_destroy(&other);
    assert_null(own);
}

static void used_ones_are_forgotten_with_their_time(void **state)
{
    struct challenges *challenges = challenges_create();
    char nonce[CHALLENGE_ROOM];
    (void)state;
    for (int64_t now = 0; now < 10; now++) {
        challenges_issue(challenges, NONCE, "here", now, nonce);
        challenges_use(challenges, nonce, now);
    }
    assert_int_equal(challenges_used(challenges), 10);
    challenges_issue(challenges, NONCE, "here", 5 + CHALLENGE_LIFE_MS, nonce);
    challenges_use(challenges, nonce, 5 + CHALLENGE_LIFE_MS);
    assert_int_equal(challenges_used(challenges), 5);
    assert_false(challenges_valid(challenges, nonce, NONCE, "here", 5 + CHALLENGE_LIFE_MS));
    challenges_destroy(&challenges);
}

static void paths_are_decoded(void **state)
{
    static const char *const pairs[][2] = {
        {"/dap", "/dap"},   {"/v1/pauses/a%20b/release", "/v1/pauses/a b/release"},
        {"/x?y=%41", "/x"}, {"/%2f%C3%a9", "/\x2f\xc3\xa9"},
        {"/%", "/%"},       {"/%4", "/%4"},
        {"/%zz", "/%zz"},   {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char *path = proof_path(pairs[i][0]);
        assert_string_equal(path, pairs[i][1]);
        free(path);
    }
}

static void this_machine_has_a_name(void **state)
{
    char one[PROOF_MACHINE_ROOM], two[PROOF_MACHINE_ROOM];
    (void)state;
    proof_machine(one);
    proof_machine(two);
    assert_string_equal(one, two);
    assert_non_null(strstr(one, " net:["));
}

static void half_a_name_is_none(void **state)
{
    char machine[PROOF_MACHINE_ROOM];
    (void)state;
    without_network = true;
    proof_machine(machine);
    without_network = false;
    assert_string_equal(machine, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_counts),
        cmocka_unit_test(nothing_equals_no_proof),
        cmocka_unit_test(a_challenge_is_good_once),
        cmocka_unit_test(used_ones_are_forgotten_with_their_time),
        cmocka_unit_test(paths_are_decoded),
        cmocka_unit_test(this_machine_has_a_name),
        cmocka_unit_test(half_a_name_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
