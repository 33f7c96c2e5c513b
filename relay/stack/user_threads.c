#include "relay/stack/user_threads.h"

#include "base/text.h"
#include "dap/message.h"

#include <stdlib.h>
#include <string.h>

#define MARK "raydbg: a thread runs code of the user"

const char user_threads_mark[] = MARK;

/* A thread that pydevd has stopped for a reason of its own has a `stop_reason`; CMD_THREAD_SUSPEND
 * is that of threads which stop along with it. Between tasks the stacks of Ray's own threads have
 * files of Ray, pydevd and the standard library only, and so does an idle thread of a pool. An
 * answer is an error: debugpy before 1.8.7 prints the value of an expression that has no frame. */
static const char query[] =
    "if (lambda sys, os, threading: (lambda along, own, library, frames, walk: any(\n"
    "        not path.startswith(own) and (not path.startswith(library) or '-packages' in path)\n"
    "        for thread in threading.enumerate()\n"
    "        if getattr(thread, 'stop_reason', None) not in along and thread.ident in frames\n"
    "        for path in [frame.f_code.co_filename for frame, line in "
    "walk(frames[thread.ident])]))(\n"
    "    (None, __import__('_pydevd_bundle.pydevd_comm_constants',\n"
    "                      fromlist=['a']).CMD_THREAD_SUSPEND),\n"
    "    ('<frozen ',) + tuple(os.path.dirname(sys.modules[name].__file__) + os.sep\n"
    "                          for name in ('ray', 'pydevd')\n"
    "                          if getattr(sys.modules.get(name), '__file__', None)),\n"
    "    os.path.dirname(os.__file__) + os.sep, sys._current_frames(),\n"
    "    __import__('traceback').walk_stack))(\n"
    "        __import__('sys'), __import__('os'), __import__('threading')):\n"
    "    raise LookupError('" MARK "')\n";

void user_threads_query(struct buf *arguments)
{
    buf_add_string(arguments, "{\"context\":\"watch\",\"expression\":");
    message_quote(arguments, query);
    buf_add_string(arguments, "}");
}

bool user_threads_stand(const char *json, const struct envelope *response)
{
    char *why =
        response->success || !response->message.len ? NULL : scan_string(json, response->message);
    bool stand = why && strstr(why, user_threads_mark);
    free(why);
    return stand;
}
