/* What is known of a few objects and actors, and responses annotated with it. */
#ifndef RAYDBG_TESTS_ANNOTATE_FIXTURE_H
#define RAYDBG_TESTS_ANNOTATE_FIXTURE_H

#include "cmocka_prelude.h"
#include "test_data.h"

#include "base/buf.h"
#include "base/mem.h"
#include "dap/message.h"
#include "relay/annotate/annotate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOT " \xC2\xB7 "
#define TASK "00668a65bda616c1ffffffffffffffffffffffff01000000"
#define REF_1 "ObjectRef(" TASK "01000000)"
#define REF_2 "ObjectRef(" TASK "02000000)"
#define REF_3 "ObjectRef(" TASK "03000000)"
#define REF_UNKNOWN "ObjectRef(" TASK "f0000000)"
#define REF_PENDING "ObjectRef(" TASK "e0000000)"
#define ACTOR_1 "Actor(H, b0f542cb5a173af7a58036f101000000)"
#define ACTOR_2 "Actor(H, 44e7fb2adbb8485524b9669301000000)"
#define READ_ONLY "\"presentationHint\": {\"attributes\": [\"readOnly\"]}"

/* --- what is known --- */

/* The bytes of an object are 8 MB times the first byte of its index. */
static inline bool object(void *arg, const struct object_id *id, struct object_note *out)
{
    (void)arg;
    uint8_t index = id->bytes[ID_TASK_BYTES];
    if (index >= 0xF0)
        return false;
    *out = (struct object_note){.state = OBJECT_STATE_READY,
                                .size = INT64_C(8000000) * index,
                                .owner_pid = 7,
                                .owner_node = "n"};
    if (index == 0xE0)
        *out = (struct object_note){
            .state = OBJECT_STATE_PENDING, .size = -1, .status = "SUBMITTED_TO_WORKER"};
    return true;
}

static inline bool actor(void *arg, const char *actor_id, struct actor_note *out)
{
    (void)arg;
    if (*actor_id != 'b' && *actor_id != '4')
        return false;
    *out = (struct actor_note){.class_name = "H", .node = "node-1", .pid = 7, .state = "ALIVE"};
    if (*actor_id == '4')
        strcpy(out->name, "the \"named\" one");
    return true;
}

struct log {
    char text[8192];
    int refs, containers, actors, arrays;
    char children[64]; /* the variablesReferences */
};

static inline void seen(void *arg, const struct annotate_seen *row)
{
    struct log *log = arg;
    size_t at = strlen(log->text);
    assert_non_null(row->name.at);
    assert_non_null(row->evaluate_name.at);
    log->refs += row->kind == ANNOTATE_REF;
    log->containers += row->kind == ANNOTATE_CONTAINER;
    log->actors += row->kind == ANNOTATE_ACTOR;
    log->arrays += row->kind == ANNOTATE_ARRAY;
    if (at < sizeof log->text - 256)
        snprintf(log->text + at, sizeof log->text - at, "%d %lld %02x %s|%.*s|%.*s;",
                 (int)row->kind, (long long)row->reference, row->id.bytes[ID_TASK_BYTES],
                 row->actor_id, (int)row->name.len, row->name.at, (int)row->evaluate_name.len,
                 row->evaluate_name.at);
}

static inline void children(void *arg, int64_t first, int64_t last)
{
    struct log *log = arg;
    for (int64_t reference = first; reference <= last; reference++) {
        size_t at = strlen(log->children);
        snprintf(log->children + at, sizeof log->children - at, "%lld ", (long long)reference);
    }
}

static const struct annotate_options plain_options;

/* The annotated message, or NULL. The caller frees. */
static inline char *annotate(const char *command, const char *json,
                             const struct annotate_options *options, struct log *log)
{
    struct envelope envelope;
    const char *problem;
    struct buf out = {0};
    struct annotate_source source = {object, actor, log ? seen : NULL, log ? children : NULL, log};
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    bool any = annotate_response(command, json, strlen(json), &envelope, options, &source, &out);
    assert_int_equal(any, out.len > 0);
    if (!any) {
        buf_free(&out);
        return NULL;
    }
    assert_true(annotate_applies(json, strlen(json)));
    assert_true(scan_strict(out.data, out.len, &problem));
    return buf_take(&out);
}

static inline char *response(const char *command, const char *body)
{
    return mem_format("{\"seq\": 1, \"type\": \"response\", \"request_seq\": 2, \"success\": true, "
                      "\"command\": \"%s\", \"body\": %s}",
                      command, body);
}

/* Compares the annotated body with `expected`; NULL: it is left as it is. */
static inline void check_body(const char *command, const char *body, const char *expected)
{
    char *json = response(command, body), *out = annotate(command, json, &plain_options, NULL);
    if (!expected) {
        assert_null(out);
    } else {
        char *wanted = response(command, expected);
        assert_non_null(out);
        assert_string_equal(out, wanted);
        free(wanted);
    }
    free(json);
    free(out);
}

/* --- what debugpy says --- */

static inline char *recorded(const char *name)
{
    char path[512];
    struct buf bytes = {0};
    snprintf(path, sizeof path, "%s/debugpy-1.8.22-%s.json", test_data, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    bytes.len = fread(buf_reserve(&bytes, 1 << 20), 1, 1 << 20, file);
    fclose(file);
    buf_add(&bytes, "", 0);
    return buf_take(&bytes);
}

/* The last element of body.variables of that name: its span in `json`. */
static inline struct span row_named(const char *json, const char *name)
{
    struct span whole = {0, strlen(json)}, rows, row, value, found = {0};
    size_t cursor = 0;
    assert_true(scan_path(json, whole, "body/variables", &rows));
    while (scan_element(json, rows, &cursor, &row))
        if (scan_find(json, row, "name", &value) && scan_string_is(json, value, name))
            found = row;
    assert_true(found.len > 0);
    return found;
}

#endif
