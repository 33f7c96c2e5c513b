/* Tells the program's frames of a thread from those of Ray and of the debugger, and from those that
 * only lead there. Pure. */
#ifndef RAYDBG_RELAY_PYTHON_STACK_THREAD_FRAMES_H
#define RAYDBG_RELAY_PYTHON_STACK_THREAD_FRAMES_H

#include "base/buf.h"
#include "relay/python_stack/python_dump.h"

/* The frames to show: those from `first` to `last` that are not Ray's or the debugger's. */
struct thread_frames {
    bool has_users; /* a frame of the program's */
    size_t first, last;
    const char *waits_in; /* "ray.get": what the program has called that was folded away; NULL */
};

struct thread_frames thread_frames_of(const struct python_thread *thread);
/* True if the frame at this index is folded. */
bool thread_frames_is_folded(const struct python_thread *thread, const struct thread_frames *frames,
                             size_t index);

/* Appends the frames as an array of DAP's StackFrame: all, or in front of them `waits_in`, and the
 * folded ones as subtle. */
void thread_frames_json(const struct python_thread *thread, const struct thread_frames *frames,
                        bool all, struct buf *out);

#endif
