#include "relay/session/remote_call.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define WORKER "__import__('ray')._private.worker.global_worker"

/* The attribute of Ray's worker that holds the note (ray/util/rpdb.py: do_remote, do_get). */
static const char *const notes[] = {
    [REMOTE_CALL_INTO] = "debugger_breakpoint",
    [REMOTE_CALL_BACK] = "debugger_get_breakpoint",
};

void remote_call_uuid(char uuid[REMOTE_CALL_UUID])
{
    uint8_t bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) /* cannot fail: less than 256 bytes */
        abort();
    text_hex(bytes, sizeof bytes, uuid);
}

static char *evaluate(const char *expression, int64_t frame)
{
    struct buf out = {0};
    buf_add_string(&out, "{\"context\":\"watch\",\"expression\":");
    message_quote(&out, expression);
    if (frame)
        buf_printf(&out, ",\"frameId\":%lld", (long long)frame);
    buf_add_string(&out, "}");
    return buf_take(&out);
}

/* A thread without a task gets no note: the next task that its process calls would stop without a
 * client. get_task_id() knows the tasks of an async actor, and no driver's. */
char *remote_call_note(enum remote_call_way way, const char *uuid, int64_t frame)
{
    char *expression = mem_format(
        "(lambda module,worker:(lambda task:task and (setattr(worker,'%s','%s'),task)[1])("
        "__import__('ray').get_runtime_context().get_task_id()"
        " if worker.mode==module.WORKER_MODE else worker.current_task_id.hex()))"
        "(__import__('ray')._private.worker," WORKER ")",
        notes[way], uuid);
    char *arguments = evaluate(expression, frame);
    free(expression);
    return arguments;
}

char *remote_call_forget(enum remote_call_way way, const char *uuid, int64_t frame)
{
    char *expression = mem_format("(lambda worker:(worker.%s=='%s',setattr(worker,'%s',b''))[0])"
                                  "(" WORKER ")",
                                  notes[way], uuid, notes[way]);
    char *arguments = evaluate(expression, frame);
    free(expression);
    return arguments;
}

bool remote_call_was_unused(const char *result)
{
    return text_equal(result, "True");
}

bool remote_call_task(const char *result, char task_id[ID_TEXT(ID_TASK_BYTES)])
{
    uint8_t binary[ID_TASK_BYTES];
    char digits[ID_TEXT(ID_TASK_BYTES)] = "";
    if (result && *result == '\'' && strlen(result) == sizeof digits + 1)
        text_copy(digits, sizeof digits, result + 1);
    if (!text_unhex(digits, binary, sizeof binary))
        return false;
    text_hex(binary, sizeof binary, task_id);
    return true;
}

/* The evaluation runs on top of the stopped thread's own stack and finds the frame there. An
 * actor's method is not a RemoteFunction, and Ray does not apply the note to it. */
char *remote_call_functions(const char *function, int64_t line, int64_t frame)
{
    struct buf expression = {0};
    const char *name = strrchr(function, '.') ? strrchr(function, '.') + 1 : function;
    buf_add_string(
        &expression,
        "[name for frame,line in __import__('traceback').walk_stack(__import__('sys')._getframe())"
        " if line==");
    buf_printf(&expression, "%lld and frame.f_code.co_name==", (long long)line);
    message_quote(&expression, name);
    buf_add_string(&expression, " for name in __import__('re').findall("
                                "r'([A-Za-z_][\\w.]*?)(?:\\.options\\(.*?\\))?\\.remote\\(',"
                                "__import__('linecache').getline(frame.f_code.co_filename,line))"
                                " if type(eval(name,frame.f_globals,frame.f_locals)).__name__=="
                                "'RemoteFunction']");
    char *arguments = evaluate(expression.data, frame);
    buf_free(&expression);
    return arguments;
}

/* `result` is "['f', 'g']". */
char *remote_call_label(const char *result)
{
    struct buf names = {0};
    size_t count = 0;
    const char *at = result ? strchr(result, '\'') : NULL;
    for (const char *end; at && (end = strchr(at + 1, '\'')); at = strchr(end + 1, '\'')) {
        buf_add_string(&names, count++ ? ", " : "");
        buf_add(&names, at + 1, (size_t)(end - at - 1));
    }
    char *label = count == 0   ? NULL
                  : count == 1 ? mem_format("into remote task %s", names.data)
                               : mem_format("into the first remote task of %s", names.data);
    buf_free(&names);
    return label;
}

bool remote_call_is(const struct pause *pause, enum remote_call_way way, const char *uuid,
                    const char *task_id)
{
    if (pause->debugger != PAUSE_DEBUGPY)
        return text_equal(pause->breakpoint, uuid);
    return way == REMOTE_CALL_INTO &&
           (pause->state == PAUSE_WAITING || pause->state == PAUSE_HELD) &&
           *pause->parent_task_id && text_equal(pause->parent_task_id, task_id);
}
