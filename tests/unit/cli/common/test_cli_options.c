/* Options and operands of a command line, and what is said of wrong ones. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "cli/common/command_usage.h"
#include "cli/common/options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a parse of "list WORD…" gave. */
struct parsed {
    bool ok, done;
    bool all, tune;
    const char *address, *format, *sort;
    struct option_list maps, hosts;
    int operands;
    char *argv[12];
    char *said; /* on both streams; freed by clear() */
};

static void parse_words(struct parsed *out, int argc)
{
    static const struct option_row options[] = {
        {"all", 'A', OPTION_FLAG, offsetof(struct parsed, all), .help = "all of them"},
        {.help = "A paragraph of its own:"},
        {"no-tune", 0, OPTION_FLAG, offsetof(struct parsed, tune), .help = "leave it"},
        {"address", 'a', OPTION_STRING, offsetof(struct parsed, address), .value = "ADDRESS",
         .help = "where"},
        {"format", 'f', OPTION_STRING, offsetof(struct parsed, format), .value = "F",
         .help = "how"},
        {"sort", 0, OPTION_STRING, offsetof(struct parsed, sort), .value = "K",
         .words = "age name pid", .help = "the order"},
        {"map", 'm', OPTION_LIST, offsetof(struct parsed, maps), .value = "A=B", .help = "any"},
        {"host", 0, OPTION_LIST, offsetof(struct parsed, hosts), .most = 2, .value = "H",
         .help = "two at most"},
    };
    static const struct command_text command = {
        .name = "list",
        .summary = "show them",
        .synopsis = "list [OPTION]...",
        .intro =
            "The first line of what it does, which is so long that it has to be broken into "
            "several of them.\n  but not this one, which begins with a space and is longer than "
            "the width of all the others together is\nthe end",
        .options = options,
        .option_count = sizeof options / sizeof *options,
        .exits = "0 done, 2 wrong usage, with which a line is filled up to its end, or nearly so, "
                 "5 away",
    };
    size_t len;
    FILE *output = stdout, *errors = stderr;
    stdout = stderr = open_memstream(&out->said, &len);
    out->ok = options_parse(&command, out, argc, out->argv, &out->operands, &out->done);
    fclose(stdout);
    stdout = output;
    stderr = errors;
}

/* The words of `line` are parted by single blanks. */
static struct parsed parse(const char *line)
{
    static char words[200];
    struct parsed out = {.tune = true, .argv = {"list"}};
    int argc = 1;
    assert_true(text_copy(words, sizeof words, line));
    for (char *at = words; *at; argc++) {
        assert_true(argc < 12);
        out.argv[argc] = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
    }
    parse_words(&out, argc);
    return out;
}

static void clear(struct parsed *parsed)
{
    free(parsed->maps.items);
    free(parsed->hosts.items);
    free(parsed->said);
}

static void check_wrong(const char *line, const char *said)
{
    struct parsed got = parse(line);
    assert_false(got.ok);
    assert_false(got.done);
    if (!strstr(got.said, said))
        print_error("%s: %s\n", line, got.said);
    assert_non_null(strstr(got.said, said));
    assert_non_null(strstr(got.said, "usage: raydbg list"));
    clear(&got);
}

static void nothing_is_fine(void **state)
{
    (void)state;
    struct parsed got = parse("");
    assert_true(got.ok);
    assert_false(got.done);
    assert_int_equal(got.operands, 0);
    assert_false(got.all);
    assert_true(got.tune);
    assert_null(got.address);
    assert_string_equal(got.said, "");
    clear(&got);
}

static void each_way_to_write_an_option(void **state)
{
    static const char *const lines[] = {"--all --address h:1 --format=json", "-A -a h:1 -fjson",
                                        "-ah:1 --format json --all", "--address=h:1 -f json -A"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct parsed got = parse(lines[i]);
        assert_true(got.ok);
        assert_true(got.all);
        assert_string_equal(got.address, "h:1");
        assert_string_equal(got.format, "json");
        assert_int_equal(got.operands, 0);
        clear(&got);
    }
}

static void no_sets_to_false(void **state)
{
    (void)state;
    struct parsed got = parse("--no-tune");
    assert_true(got.ok);
    assert_false(got.tune);
    clear(&got);
}

static void values_may_be_odd(void **state)
{
    (void)state;
    struct parsed got = parse("--address= --format a=b=c");
    assert_true(got.ok);
    assert_string_equal(got.address, "");
    assert_string_equal(got.format, "a=b=c");
    clear(&got);
    got = parse("--format -A --address --");
    assert_true(got.ok);
    assert_string_equal(got.format, "-A");
    assert_string_equal(got.address, "--");
    assert_false(got.all);
    clear(&got);
    got = parse("-f json -f yaml");
    assert_string_equal(got.format, "yaml"); /* the last one counts */
    clear(&got);
}

static void operands_stand_anywhere(void **state)
{
    (void)state;
    struct parsed got = parse("one --all two -a h:1 - three");
    assert_true(got.ok);
    assert_true(got.all);
    assert_int_equal(got.operands, 4);
    static const char *const expected[] = {"list", "one", "two", "-", "three"};
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(got.argv[i], expected[i]);
    clear(&got);
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    struct parsed got = parse("-A -- --all -h -- x");
    assert_true(got.ok);
    assert_false(got.done);
    assert_int_equal(got.operands, 4);
    assert_string_equal(got.argv[1], "--all");
    assert_string_equal(got.argv[2], "-h");
    assert_string_equal(got.argv[3], "--");
    assert_string_equal(got.argv[4], "x");
    clear(&got);
}

static void help_is_printed(void **state)
{
    (void)state;
    struct parsed brief = parse("-A -h --nonsense");
    assert_true(brief.ok);
    assert_true(brief.done);
    assert_non_null(strstr(brief.said, "raydbg list"));
    struct parsed whole = parse("--help");
    assert_true(whole.ok);
    assert_true(whole.done);
    assert_non_null(strstr(whole.said, "raydbg list"));
    assert_true(strlen(whole.said) > strlen(brief.said));
    clear(&brief);
    clear(&whole);
}

static void unknown_options_are_named(void **state)
{
    (void)state;
    check_wrong("--adress h:1", "unknown option --adress: did you mean --address?");
    check_wrong("--adress=h:1", "unknown option --adress: did you mean --address?");
    check_wrong("--fromat json", "did you mean --format?");
    check_wrong("--al", "did you mean --all?");
    check_wrong("--ALL", "unknown option --ALL\n");
    check_wrong("--nonsense", "unknown option --nonsense\n");
    check_wrong("--a-name-that-is-longer-than-any-that-there-could-be", "-there-could-be\n");
    check_wrong("--addresses-of-the-cluster", "unknown option --addresses-of-the-cluster\n");
    check_wrong("--=x", "unknown option --\n");
    check_wrong("-z", "unknown option -z\n");
    check_wrong("one -A --nonsense two", "unknown option --nonsense\n");
}

static void values_that_are_missing_or_too_many(void **state)
{
    (void)state;
    check_wrong("--address", "--address needs a value");
    check_wrong("-A -f", "--format needs a value");
    check_wrong("--all=yes", "--all takes no value");
    check_wrong("--all=", "--all takes no value");
    check_wrong("-Ax", "--all takes no value");
}

static void only_the_rows_words(void **state)
{
    (void)state;
    struct parsed got = parse("--sort name");
    assert_true(got.ok);
    assert_string_equal(got.sort, "name");
    clear(&got);
    check_wrong("--sort size", "--sort is age, name or pid, not 'size'");
    check_wrong("--sort=", "--sort is age, name or pid, not ''");
    check_wrong("--sort nam", "not 'nam'");
    check_wrong("--sort pidage", "not 'pidage'");
}

static void lists_keep_their_order(void **state)
{
    (void)state;
    struct parsed got = parse("-m a --map=b x -mc --host h");
    assert_true(got.ok);
    assert_int_equal(got.maps.count, 3);
    assert_string_equal(got.maps.items[0], "a");
    assert_string_equal(got.maps.items[1], "b");
    assert_string_equal(got.maps.items[2], "c");
    assert_int_equal(got.hosts.count, 1);
    assert_int_equal(got.operands, 1);
    clear(&got);
    check_wrong("--host a --host b --host c", "--host is given more than 2 times");
}

static void the_help_is_broken_into_lines(void **state)
{
    (void)state;
    struct parsed got = parse("--help");
    assert_string_equal(
        got.said,
        "raydbg list: show them\n\nusage: raydbg list [OPTION]...\n\n"
        "The first line of what it does, which is so long that it has to be broken into several "
        "of\n"
        "them.\n"
        "  but not this one, which begins with a space and is longer than the width of all the "
        "others together is\n"
        "the end\n\n"
        "  -A, --all               all of them\n\n"
        "A paragraph of its own:\n"
        "      --no-tune           leave it\n"
        "  -a, --address ADDRESS   where\n"
        "  -f, --format F          how\n"
        "      --sort K            the order\n"
        "  -m, --map A=B           any\n"
        "      --host H            two at most\n"
        "  -h, --help              the whole help; -h: its beginning\n\n"
        "exit codes: 0 done, 2 wrong usage, with which a line is filled up to its end, or nearly "
        "so,\n"
        "            5 away\n");
    clear(&got);
}

static void check_fill(const char *text, size_t width, const char *expected)
{
    struct buf out = {0};
    command_fill(&out, text, 0, 2, width);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void lines_are_as_long_as_they_may_be(void **state)
{
    (void)state;
    check_fill("aaa bbb", 7, "aaa bbb\n");
    check_fill("aaa bbb", 6, "aaa\n  bbb\n");
    check_fill("aaa bbb cc dd", 8, "aaa bbb\n  cc dd\n");
    check_fill("a-word-that-is-too-long b", 5, "a-word-that-is-too-long\n  b\n");
    check_fill("one\n\ntwo", 9, "one\n\n  two\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_fine),
        cmocka_unit_test(each_way_to_write_an_option),
        cmocka_unit_test(no_sets_to_false),
        cmocka_unit_test(values_may_be_odd),
        cmocka_unit_test(operands_stand_anywhere),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(help_is_printed),
        cmocka_unit_test(unknown_options_are_named),
        cmocka_unit_test(values_that_are_missing_or_too_many),
        cmocka_unit_test(only_the_rows_words),
        cmocka_unit_test(lists_keep_their_order),
        cmocka_unit_test(the_help_is_broken_into_lines),
        cmocka_unit_test(lines_are_as_long_as_they_may_be),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
