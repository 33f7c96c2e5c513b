#include "relay/inject/inject.h"

#include "base/buf.h"
#include "base/text.h"
#include "relay/inject/inject_source.h"

#include <stdlib.h>
#include <string.h>

static const struct injection table[] = {
    {"nodelay",
     "answers leave at once",
     "pydevd_comm.py: WriterThread sends header, then body",
     inject_nodelay,
     {3, 0},
     {4, 0},
     INJECT_TUNE,
     false},
    {"wake",
     "a step starts at once",
     "pydevd_additional_thread_info_regular.py: _update_stepping_info shadows `info`",
     inject_wake,
     {3, 0},
     {4, 0},
     INJECT_TUNE,
     true},
    {"all-stop",
     "no stop and no answer is lost where one thread's stop stops all",
     "pydevd.py: AbstractSingleNotificationBehavior, set_suspend(); on_continue_request()",
     inject_all_stop,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"sources",
     "byte code is not shown as source",
     "pydevd_api.py: get_decompiled_source_from_frame_id",
     inject_sources,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"guard",
     "every request gets an answer",
     "pydevd_process_net_command_json.py: process_net_command_json; pydevd_comm.py: ReaderThread",
     inject_guard,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"conditions",
     "a condition that fails says so",
     "pydevd.py: handle_breakpoint_condition; pydevd_defaults.py: skip_print_breakpoint_exception",
     inject_conditions,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"files",
     "a breakpoint is set in the file that the process has, by whichever name",
     "pydevd_api.py: filename_to_server, remove_all_breakpoints",
     inject_files,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"looks",
     "a look ends, whatever it looks at",
     "pydevd_comm.py: internal_get_variable_json; pydevd_suspended_frames.py: get_var_data",
     inject_looks,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"frameless",
     "an expression without a frame has a value", /* behind "looks", which replaces the same */
     "pydevd_vars.py: evaluate_expression() prints it (<= 1.8.6)",
     inject_frameless,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"output",
     "a thread may print while an expression is evaluated",
     "pydevd_io.py: start_redirect(); CPython before 3.13.3: builtin_print(), gh-130163",
     inject_output,
     {3, 0},
     {3, 14},
     INJECT_ALWAYS,
     true},
    {"forks",
     "a forked child runs on, undebugged",
     "pydev_monkey.py: create_fork, _on_forked_process",
     inject_forks,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"leaving",
     "no thread stops for a client that has left", /* ahead of those that wrap do_wait_suspend() */
     "pydevd.py: block_until_configuration_done(), set_suspend(), do_wait_suspend(); "
     "pydevd_api.py: request_disconnect()",
     inject_leaving,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"stepped-off",
     "a step off the end of a task's code lets the task end",
     "pydevd_frame.py: a step that returns stops in the caller, ray/_private/worker.py: main_loop",
     inject_stepped_off,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"limit",
     "no message is longer than debugpy's adapter reads",
     "debugpy/common/messaging.py: JsonIOStream.MAX_BODY_SIZE",
     inject_limit,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"snapshots",
     "a look keeps nothing alive",
     "CPython before 3.13: PyFrame_FastToLocalsWithError(); pydevd_vars.py: eval_in_context",
     inject_snapshots,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"interrupt",
     "a client that leaves waits for no expression",
     "pydevd.py: process_internal_commands; debugpy/adapter/clients.py: Client.request",
     inject_interrupt,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"breakpoint",
     "breakpoint() stops in the user's frame, at its own line",
     "ray/util/debugpy.py: _override_breakpoint_hooks, _debugpy_breakpoint",
     inject_breakpoint_hook,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"get",
     "a step out of a remote task stops in ray.get()",
     "ray/_private/worker.py: get",
     inject_get_hook,
     {3, 0},
     {4, 0},
     INJECT_ALWAYS,
     true},
    {"postmortem",
     "post mortem stops at the raising line",
     "ray/util/debugpy.py: _debugpy_excepthook; pydevd.py: trigger_exception_handler",
     inject_postmortem,
     {3, 12},
     {4, 0},
     INJECT_ALWAYS,
     false},
    {"keepalive",
     "the task is held while the network to the client is cut",
     "debugpy/common/sockets.py: _new_sock",
     inject_keepalive,
     {3, 9},
     {4, 0},
     INJECT_ADAPTER,
     false},
    {"no-subprocess",
     "child processes run undebugged",
     "pydev_monkey.py: _get_apply_arg_patching; children wait for a client",
     inject_no_sub_process,
     {3, 0},
     {4, 0},
     INJECT_NO_SUB_PROCESS,
     false},
    {"subprocess",
     "child processes are debugged",
     "takes no-subprocess back",
     inject_sub_process,
     {3, 0},
     {4, 0},
     INJECT_SUB_PROCESS,
     false},
};

/* run([(name, low, high, once, source), ...]) returns the answer. `pydevd._raydbg` is the set of
 * injections that were done. In a process of `raydbg run` one PyDB ends and another begins: what is
 * done once must be done to the class or the module, not to a PyDB. The answer is None where
 * evaluate_expression() itself prints a value (<= 1.8.6). */
static const char runner[] =
    "import sys\n"
    "def is_printed():\n"
    "    from inspect import unwrap\n"
    "    from _pydevd_bundle.pydevd_vars import evaluate_expression\n"
    "    return 'stdout' in unwrap(evaluate_expression).__code__.co_names\n"
    "def run_one(done, facts, name, once, source):\n"
    "    if once and name in done:\n"
    "        return name + '='\n"
    "    try:\n"
    "        space = {'__name__': 'raydbg', 'facts': facts}\n"
    "        exec(compile(source, '<raydbg ' + name + '>', 'exec'), space)\n"
    "    except Exception as error:\n"
    "        return '%s!%r' % (name, error)\n"
    "    done.add(name)\n"
    "    return name\n"
    "def count_waiting(pydevd):\n"
    "    waits, count = getattr(pydevd, '_wait_for_attach', None), 0\n"
    "    for frame in sys._current_frames().values():\n"
    "        while waits and frame and frame.f_code is not waits.__code__:\n"
    "            frame = frame.f_back\n"
    "        count += frame is not None\n"
    "    return {'waiting': count} if waits else {}\n"
    "def run(steps):\n"
    "    import pydevd\n"
    "    done = pydevd.__dict__.setdefault('_raydbg', set())\n"
    "    facts = {}\n"
    "    said = [run_one(done, facts, name, *what) for name, low, high, *what in steps\n"
    "            if low <= sys.version_info[:2] < high]\n"
    "    if is_printed():\n"
    "        return None\n"
    "    versions = '%d.%d.%d' % sys.version_info[:3]\n"
    "    version = getattr(sys.modules.get('debugpy'), '__version__', '?')\n"
    "    facts.update(count_waiting(pydevd))\n"
    "    more = ''.join(' %s=%s' % fact for fact in facts.items())\n"
    "    return '%s/%s %s%s' % (versions, version, ','.join(said), more)\n";

/* The number of a fact in the answer, or -1. `name` begins with a space and ends with "=". */
static int find_fact(const char *answer, const char *name)
{
    const char *fact = answer ? strstr(answer, name) : NULL;
    return fact ? (int)strtol(fact + strlen(name), NULL, 10) : -1;
}

int inject_cut_s(const char *answer)
{
    int cut_s = find_fact(answer, " cut=");
    if (cut_s < 0 && answer && strstr(answer, "keepalive!"))
        return INJECT_CUT_DEBUGPY_S;
    return cut_s < 0 ? 0 : cut_s;
}

int inject_adapter(const char *answer)
{
    int pid = find_fact(answer, " adapter=");
    return pid < 0 ? 0 : pid;
}

int inject_waiting(const char *answer)
{
    return find_fact(answer, " waiting=");
}

const struct injection *inject_table(size_t *count)
{
    *count = sizeof table / sizeof *table;
    return table;
}

static bool is_wanted(enum inject_when when, const struct inject_options *options)
{
    if (options->only_tune && when != INJECT_TUNE)
        return false;
    switch (when) {
    case INJECT_ALWAYS:
        return true;
    case INJECT_TUNE:
        return options->tune;
    case INJECT_SUB_PROCESS:
        return options->sub_process;
    case INJECT_NO_SUB_PROCESS:
        return !options->sub_process;
    case INJECT_ADAPTER:
        return !options->reverse;
    }
    return false;
}

/* Adds `text` as a Python string literal. */
static void add_literal(struct buf *out, const char *text)
{
    buf_add_string(out, "'");
    for (; *text; text++) {
        if (*text == '\n')
            buf_add_string(out, "\\n");
        else if (*text == '\'' || *text == '\\')
            buf_printf(out, "\\%c", *text);
        else
            buf_add(out, text, 1);
    }
    buf_add_string(out, "'");
}

static void add_step(struct buf *out, const struct injection *step)
{
    buf_printf(out, "('%s',(%d,%d),(%d,%d),%s,", step->name, step->low.major, step->low.minor,
               step->high.major, step->high.minor, step->once ? "True" : "False");
    add_literal(out, step->source);
    buf_add_string(out, "),");
}

#define BEGIN "(lambda n:(exec(n['runner'],n),n['run'](n['steps']))[1])"

char *inject_expression(const struct inject_options *options)
{
    struct buf out = {0};
    buf_add_string(&out, BEGIN "({'runner':");
    add_literal(&out, runner);
    buf_add_string(&out, ",'steps':[");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is_wanted(table[i].when, options))
            add_step(&out, &table[i]);
    buf_add_string(&out, "]})");
    return buf_take(&out);
}

bool inject_is_warned_of(const char *output)
{
    return text_starts(output, "Evaluating: " BEGIN);
}
