/* The paths of a client whose mappings are not the debugger's. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "relay/client/path_view.h"

#include <string.h>

#define MAP(local, remote)                                                                         \
    "{\"pathMappings\":[{\"localRoot\":\"" local "\",\"remoteRoot\":\"" remote "\"}]}"

static void check(const struct path_view *view, const char *before, const char *after)
{
    struct envelope envelope;
    const char *problem;
    struct buf out = {0};
    assert_int_equal(envelope_read(&envelope, before, strlen(before), &problem), 0);
    bool changed = path_view_write(view, before, strlen(before), &envelope, &out);
    if (!text_equal(changed ? out.data : before, after))
        fail_msg("%s", changed ? out.data : before);
    assert_int_equal(changed, !text_equal(before, after));
    buf_free(&out);
}

#define REQUEST(path)                                                                              \
    "{\"seq\":1,\"type\":\"request\",\"command\":\"setBreakpoints\",\"arguments\":{"               \
    "\"breakpoints\":[{\"line\":1}],\"source\":{\"name\":\"é\",\"path\":\"" path "\"}}}"
#define STACK(sources)                                                                             \
    "{\"seq\":1,\"type\":\"response\",\"request_seq\":2,\"success\":true,\"command\":"             \
    "\"stackTrace\",\"body\":{\"stackFrames\":[" sources "]}}"
#define SOURCE(path, reference)                                                                    \
    "{\"source\":{\"path\":\"" path "\",\"sourceReference\":" reference "}}"
#define TURNED(path, reference)                                                                    \
    "{\"source\":{\"sourceReference\":" reference ",\"path\":\"" path "\"}}"

static void equal_mappings_change_nothing(void **state)
{
    (void)state;
    struct path_view view = {0};
    assert_true(path_view_set(&view, MAP("/a", "/w"), MAP("/a/", "/w/")));
    assert_true(path_view_is_plain(&view));
    check(&view, REQUEST("/a/x.py"), REQUEST("/a/x.py"));
    assert_true(path_view_set(&view, NULL, NULL));
    assert_true(path_view_set(&view, MAP("/a", "."), MAP("/a", ".")));
    assert_false(path_view_set(&view, MAP("/a", "."), "{}"));
    assert_true(path_view_is_plain(&view));
    path_view_clear(&view);
}

static void from_the_debuggers_paths_to_its_own(void **state)
{
    (void)state;
    struct path_view view = {0};
    assert_true(path_view_set(&view, MAP("/two", "/w"), MAP("/one", "/w")));
    check(&view, REQUEST("/two/x.py"), REQUEST("/one/x.py"));
    check(&view, REQUEST("/w/x.py"), REQUEST("/one/x.py"));
    check(&view, REQUEST("/three/x.py"), REQUEST("/three/x.py"));
    check(&view, STACK(SOURCE("/one/x.py", "0") "," TURNED("/one/y.py", "0")),
          STACK(SOURCE("/two/x.py", "0") "," TURNED("/two/y.py", "0")));
    path_view_clear(&view);
}

/* A path with a sourceReference is the worker's own, which pydevd has not mapped. */
static void what_the_debugger_has_not_mapped(void **state)
{
    (void)state;
    struct path_view view = {0};
    assert_true(path_view_set(&view, MAP("/two", "/one"), MAP("/one", "/w")));
    check(&view, STACK(SOURCE("/one/x.py", "7") "," TURNED("/one/y.py", "8")),
          STACK(SOURCE("/two/x.py", "0") "," TURNED("/two/y.py", "0")));
    check(&view, STACK(SOURCE("/one/x.py", "0")), STACK(SOURCE("/w/x.py", "0")));
    check(&view, STACK(SOURCE("/lib/x.py", "9") ",{\"source\":{}},{\"source\":{\"path\":7}},{}"),
          STACK(SOURCE("/lib/x.py", "9") ",{\"source\":{}},{\"source\":{\"path\":7}},{}"));
    path_view_clear(&view);
}

static void other_messages(void **state)
{
    (void)state;
    struct path_view view = {0};
    assert_true(path_view_set(&view, MAP("/two", "/w"), "{}"));
    check(&view,
          "{\"seq\":1,\"type\":\"event\",\"event\":\"module\",\"body\":{\"module\":{\"path\":\"/w/"
          "a\"}}}",
          "{\"seq\":1,\"type\":\"event\",\"event\":\"module\",\"body\":{\"module\":{\"path\":"
          "\"/two/a\"}}}");
    check(&view,
          "{\"type\":\"response\",\"request_seq\":1,\"success\":true,\"command\":\"exceptionInfo\","
          "\"body\":{\"details\":{\"source\":\"/w/a\"}}}",
          "{\"type\":\"response\",\"request_seq\":1,\"success\":true,\"command\":\"exceptionInfo\","
          "\"body\":{\"details\":{\"source\":\"/two/a\"}}}");
    check(&view,
          "{\"type\":\"response\",\"request_seq\":1,\"success\":true,\"command\":\"evaluate\","
          "\"body\":{\"source\":{\"path\":\"/w/a\"}}}",
          "{\"type\":\"response\",\"request_seq\":1,\"success\":true,\"command\":\"evaluate\","
          "\"body\":{\"source\":{\"path\":\"/w/a\"}}}");
    path_view_clear(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_mappings_change_nothing),
        cmocka_unit_test(from_the_debuggers_paths_to_its_own),
        cmocka_unit_test(what_the_debugger_has_not_mapped),
        cmocka_unit_test(other_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
