/* The marker in what a pdb says, whatever else it says and however it is cut. */
#include "base/mem.h"
#include "cmocka_prelude.h"
#include "relay/debuggee/pdb_install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char banner[] = "> app.py(8)square()\r\n-> z = y + 1\r\n(Pdb) ";

static enum pdb_install_status feed(struct pdb_install *install, const char *text, size_t *used)
{
    return pdb_install_feed(install, text, strlen(text), used);
}

static void the_statement_is_one_line(void **state)
{
    struct pdb_install install;
    (void)state;
    pdb_install_init(&install);
    char *line = pdb_install_statement(&install);
    size_t len = strlen(line);
    assert_int_equal(line[0], '!');
    assert_ptr_equal(strchr(line, '\n'), line + len - 1);
    assert_null(strstr(line, ";;"));
    assert_null(strchr(line, '$'));
    assert_non_null(strstr(line, install.token));
    assert_int_equal(strlen(install.token), 32);
    free(line);
    pdb_install_clear(&install);
}

static void tokens_differ(void **state)
{
    struct pdb_install a, b;
    (void)state;
    pdb_install_init(&a);
    pdb_install_init(&b);
    assert_string_not_equal(a.token, b.token);
    pdb_install_clear(&a);
    pdb_install_clear(&b);
}

/* Everything that a program may print in front of it, one cut at each position. */
static void a_marker_is_found_at_any_cut(void **state)
{
    struct pdb_install install;
    size_t used;
    (void)state;
    pdb_install_init(&install);
    char *text = mem_format("%s\002\002%.7s\002%.31sx\003(Pdb) \002%s\003Content", banner,
                            install.token, install.token, install.token);
    size_t len = strlen(text), end = len - strlen("Content");
    for (size_t cut = 0; cut < end; cut++) {
        struct pdb_install one = {0};
        memcpy(one.token, install.token, sizeof one.token);
        assert_int_equal(pdb_install_feed(&one, text, cut, &used), PDB_INSTALL_MORE);
        assert_int_equal(used, cut);
        assert_int_equal(pdb_install_feed(&one, text + cut, len - cut, &used), PDB_INSTALL_DONE);
        assert_int_equal(used, end - cut);
        pdb_install_clear(&one);
    }
    free(text);
    pdb_install_clear(&install);
}

static void a_failure_says_why(void **state)
{
    struct pdb_install install;
    size_t used;
    (void)state;
    pdb_install_init(&install);
    char *text = mem_format("%s\002%s!'no rpdb'\003rest", banner, install.token);
    assert_int_equal(feed(&install, text, &used), PDB_INSTALL_FAILED);
    assert_string_equal(pdb_install_problem(&install), "'no rpdb'");
    assert_int_equal(used, strlen(text) - strlen("rest"));
    free(text);
    pdb_install_clear(&install);
}

static void who_says_too_much_is_left(void **state)
{
    struct pdb_install install;
    size_t used;
    char line[4096];
    (void)state;
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    pdb_install_init(&install);
    enum pdb_install_status status = PDB_INSTALL_MORE;
    for (int i = 0; i < 300 && status == PDB_INSTALL_MORE; i++)
        status = feed(&install, line, &used);
    assert_int_equal(status, PDB_INSTALL_FAILED);
    assert_non_null(strstr(pdb_install_problem(&install), "too much"));
    pdb_install_clear(&install);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_statement_is_one_line),    cmocka_unit_test(tokens_differ),
        cmocka_unit_test(a_marker_is_found_at_any_cut), cmocka_unit_test(a_failure_says_why),
        cmocka_unit_test(who_says_too_much_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
