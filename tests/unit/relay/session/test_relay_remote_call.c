/* What a worker is asked to evaluate for a step into a remote task, and what becomes of the
 * answers.
 */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "relay/session/remote_call.h"

#include <stdlib.h>
#include <string.h>

#define UUID "0123456789abcdef0123456789abcdef"
#define TASK "c8ef45ccd0112571ffffffffffffffffffffffff01000000"

static void uuids_differ(void **state)
{
    char one[REMOTE_CALL_UUID], other[REMOTE_CALL_UUID];
    (void)state;
    remote_call_uuid(one);
    remote_call_uuid(other);
    assert_int_equal(strlen(one), 32);
    assert_int_equal(strspn(one, "0123456789abcdef"), 32);
    assert_string_not_equal(one, other);
}

static void a_note_goes_to_rays_worker(void **state)
{
    (void)state;
    char *into = remote_call_note(REMOTE_CALL_INTO, UUID, 7);
    char *back = remote_call_note(REMOTE_CALL_BACK, UUID, 7);
    assert_non_null(strstr(into, "'debugger_breakpoint','" UUID "'"));
    assert_non_null(strstr(back, "'debugger_get_breakpoint','" UUID "'"));
    assert_true(text_ends(into, ",\"frameId\":7}"));
    free(into);
    free(back);
    char *forget = remote_call_forget(REMOTE_CALL_INTO, UUID, 0);
    char *behind = remote_call_forget(REMOTE_CALL_INTO, UUID, 7);
    assert_null(strstr(forget, "frameId"));
    assert_true(text_ends(behind, ",\"frameId\":7}"));
    free(forget);
    free(behind);
    assert_true(remote_call_was_unused("True"));
    assert_false(remote_call_was_unused("False"));
    assert_false(remote_call_was_unused(NULL));
}

static void a_task_id_is_read(void **state)
{
    static const char *const bad[] = {NULL,           "",       "None", "'" UUID "'", TASK,
                                      "'" TASK "00'", "'x" TASK};
    char id[ID_TEXT(ID_TASK_BYTES)];
    (void)state;
    assert_true(remote_call_task("'" TASK "'", id));
    assert_string_equal(id, TASK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(remote_call_task(bad[i], id));
}

static void check_label(const char *result, const char *expected)
{
    char *label = remote_call_label(result);
    if (expected)
        assert_string_equal(label, expected);
    else
        assert_null(label);
    free(label);
}

static void a_target_is_called_by_its_functions(void **state)
{
    (void)state;
    check_label("['leaf']", "into remote task leaf");
    check_label("['f', 'module.g']", "into the first remote task of f, module.g");
    check_label("[]", NULL);
    check_label(NULL, NULL);
    char *ask = remote_call_functions("outer.<locals>.inner", 12, 3);
    assert_non_null(strstr(ask, "line==12 and frame.f_code.co_name==\\\"inner\\\""));
    free(ask);
}

static struct pause pause_of(enum pause_debugger debugger, enum pause_state state)
{
    return (struct pause){
        .debugger = debugger, .state = state, .breakpoint = UUID, .parent_task_id = TASK};
}

static void the_pause_is_recognised(void **state)
{
    struct pause pdb = pause_of(PAUSE_PDB, PAUSE_WAITING);
    struct pause debugpy = pause_of(PAUSE_DEBUGPY, PAUSE_WAITING);
    struct pause pydevd = pause_of(PAUSE_PYDEVD, PAUSE_HELD);
    (void)state;
    assert_true(remote_call_is(&pdb, REMOTE_CALL_INTO, UUID, ""));
    assert_true(remote_call_is(&pdb, REMOTE_CALL_BACK, UUID, ""));
    assert_false(remote_call_is(&pdb, REMOTE_CALL_INTO, "00", TASK));
    assert_true(remote_call_is(&pydevd, REMOTE_CALL_INTO, UUID, ""));
    assert_false(remote_call_is(&pydevd, REMOTE_CALL_INTO, "00", TASK));
    assert_true(remote_call_is(&debugpy, REMOTE_CALL_INTO, UUID, TASK));
    assert_false(remote_call_is(&debugpy, REMOTE_CALL_BACK, UUID, TASK));
    assert_false(remote_call_is(&debugpy, REMOTE_CALL_INTO, UUID, UUID));
    debugpy.state = PAUSE_HELD; /* by the relay, which was faster */
    assert_true(remote_call_is(&debugpy, REMOTE_CALL_INTO, UUID, TASK));
    debugpy.state = PAUSE_ATTACHED; /* it has its debugger open from earlier */
    assert_false(remote_call_is(&debugpy, REMOTE_CALL_INTO, UUID, TASK));
    debugpy.state = PAUSE_WAITING;
    debugpy.parent_task_id[0] = '\0'; /* Ray has not told yet */
    assert_false(remote_call_is(&debugpy, REMOTE_CALL_INTO, UUID, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uuids_differ),
        cmocka_unit_test(a_note_goes_to_rays_worker),
        cmocka_unit_test(a_task_id_is_read),
        cmocka_unit_test(a_target_is_called_by_its_functions),
        cmocka_unit_test(the_pause_is_recognised),
    };
    return cmocka_run_group_tests_name("remote_call", tests, NULL, NULL);
}
