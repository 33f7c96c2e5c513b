#include "relay/python_stack/thread_frames.h"

#include "base/mem.h"
#include "base/ray_path.h"
#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool starts_with_any(const char *text, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_starts(text, prefixes[i]))
            return true;
    return false;
}

#define STARTS_WITH_ANY(text, prefixes)                                                            \
    starts_with_any(text, prefixes, sizeof(prefixes) / sizeof *(prefixes))

static bool is_debugger(const struct python_frame *frame)
{
    static const char *const prefixes[] = {"debugpy/", "_pydevd", "_pydev_", "pydevd"};
    return STARTS_WITH_ANY(frame->file, prefixes);
}

static bool is_machinery(const struct python_frame *frame)
{
    return ray_path_is_short(frame->file) || ray_path_is_frame(NULL, frame->function) ||
           text_starts(frame->file, "<frozen ") || is_debugger(frame);
}

/* Python's own files through which threads begin, and in which they wait: a thread in these alone
 * does nothing of the program's. */
static bool is_plumbing(const struct python_frame *frame)
{
    static const char *const prefixes[] = {
        "threading.py",        "queue.py", "selectors.py",  "asyncio/",         "socket.py",
        "concurrent/futures/", "ssl.py",   "subprocess.py", "multiprocessing/", "socketserver.py"};
    return STARTS_WITH_ANY(frame->file, prefixes);
}

static bool is_users(const struct python_frame *frame)
{
    return frame->line > 0 && !is_machinery(frame) && !is_plumbing(frame);
}

/* The name of the function of Ray's that the folded frames, innermost first, belong to. */
static const char *name_of_wait(const struct python_thread *thread, size_t count)
{
    static const struct {
        const char *function, *name;
    } waits[] = {{"get", "ray.get"},
                 {"Worker.get_objects", "ray.get"},
                 {"get_objects", "ray.get"},
                 {"wait", "ray.wait"},
                 {"put", "ray.put"}};
    const char *name = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct python_frame *frame = &thread->frames[i];
        if (is_debugger(frame))
            return "the debugger";
        for (size_t k = 0; k < sizeof waits / sizeof *waits; k++)
            if (text_equal(frame->file, "ray/_private/worker.py") &&
                text_equal(frame->function, waits[k].function))
                name = waits[k].name;
    }
    return name;
}

struct thread_frames thread_frames_of(const struct python_thread *thread)
{
    struct thread_frames out = {0};
    for (size_t i = 0; i < thread->count; i++) {
        if (!is_users(&thread->frames[i]))
            continue;
        if (!out.has_users)
            out.first = i;
        out.has_users = true;
        out.last = i;
    }
    if (!out.has_users)
        return out;
    bool folds = false;
    for (size_t i = 0; i < out.first; i++)
        folds = folds || is_machinery(&thread->frames[i]);
    out.waits_in = name_of_wait(thread, out.first);
    if (!folds)
        out.first = 0; /* a lock of the program's own */
    return out;
}

bool thread_frames_is_folded(const struct python_thread *thread, const struct thread_frames *frames,
                             size_t index)
{
    return !frames->has_users || index < frames->first || index > frames->last ||
           is_machinery(&thread->frames[index]);
}

/* A native frame has a library for a file, and no line. */
static void add_frame(const struct python_frame *frame, bool folded, struct buf *out)
{
    char *native = frame->line ? NULL : mem_format("%s (%s)", frame->function, frame->file);
    buf_add_string(out, "{\"name\":");
    message_quote(out, native ? native : frame->function);
    if (!native) {
        buf_printf(out, ",\"line\":%" PRId64 ",\"source\":{\"path\":", frame->line);
        message_quote(out, frame->file);
        buf_add_string(out, "}");
    }
    buf_add_string(out, folded ? ",\"presentationHint\":\"subtle\"}" : "}");
    free(native);
}

void thread_frames_json(const struct python_thread *thread, const struct thread_frames *frames,
                        bool all, struct buf *out)
{
    bool begun = false;
    buf_add_string(out, "[");
    if (frames->waits_in && !all) {
        buf_printf(out, "{\"name\":\"%s\"}", frames->waits_in);
        begun = true;
    }
    for (size_t i = 0; i < thread->count; i++, begun = true) {
        buf_add_string(out, begun ? "," : "");
        add_frame(&thread->frames[i], !all && thread_frames_is_folded(thread, frames, i), out);
    }
    buf_add_string(out, "]");
}
