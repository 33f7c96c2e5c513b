#include "relay/python_stack/python_dump.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void python_dump_clear_thread(struct python_thread *thread)
{
    for (size_t i = 0; i < thread->count; i++) {
        free(thread->frames[i].function);
        free(thread->frames[i].file);
    }
    free(thread->frames);
    free(thread->name);
}

void python_dump_clear(struct python_dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        python_dump_clear_thread(&dump->threads[i]);
    free(dump->threads);
    free(dump->title);
    *dump = (struct python_dump){0};
}

/* The last `byte` of a line, or NULL. */
static const char *last_of(const char *line, size_t len, char byte)
{
    return memrchr(line, byte, len);
}

/* The parenthesis that the last byte of the line closes, or NULL. */
static const char *opening(const char *line, size_t len)
{
    int depth = 0;
    for (const char *at = line + len; at > line;) {
        at--;
        depth += (*at == ')') - (*at == '(');
        if (depth == 0)
            return at < line + len - 1 ? at : NULL;
    }
    return NULL;
}

/* The parenthesis that opens the location of a frame, or NULL. */
static const char *location_of(const char *text, size_t len)
{
    const char *open = opening(text, len);
    return open && open > text + 1 && open[-1] == ' ' ? open : NULL;
}

struct python_frame python_dump_frame(const char *text, size_t len)
{
    const char *open = location_of(text, len), *end = text + len - 1;
    if (!open)
        return (struct python_frame){mem_string_n(text, len), mem_string(""), 0};
    const char *location = open + 1, *colon = last_of(location, (size_t)(end - location), ':');
    char *number = colon ? mem_string_n(colon + 1, (size_t)(end - colon - 1)) : NULL;
    int64_t at = 0;
    if (!number || !text_to_int(number, 0, INT32_MAX, &at))
        colon = end;
    free(number);
    return (struct python_frame){mem_string_n(text, (size_t)(open - 1 - text)),
                                 mem_string_n(location, (size_t)(colon - location)), at};
}

static void read_frame(struct python_dump *dump, const char *line, size_t len)
{
    for (; len && *line == ' '; len--)
        line++;
    if (!dump->count || !location_of(line, len))
        return;
    struct python_thread *thread = &dump->threads[dump->count - 1];
    thread->frames = mem_resize(thread->frames, thread->count + 1, sizeof *thread->frames);
    thread->frames[thread->count++] = python_dump_frame(line, len);
}

/* `Thread 1731 (idle): "MainThread"`, `Thread 0x7F3A (active+gil)`. */
static void read_thread(struct python_dump *dump, const char *line, size_t len)
{
    char *text = mem_string_n(line, len), *state = strchr(text, '(');
    dump->threads = mem_resize(dump->threads, dump->count + 1, sizeof *dump->threads);
    struct python_thread *thread = &dump->threads[dump->count++];
    *thread = (struct python_thread){.id = strtoll(text + strlen("Thread "), NULL, 0)};
    if (state) {
        char *quote = strchr(state, '"'), *last = strrchr(state, '"');
        thread->is_active = text_starts(state, "(active");
        thread->has_gil = strstr(state, "+gil") != NULL;
        if (quote && last > quote)
            thread->name = mem_string_n(quote + 1, (size_t)(last - quote - 1));
    }
    free(text);
}

bool python_dump_read(const char *text, struct python_dump *out)
{
    static const char process[] = "Process ";
    *out = (struct python_dump){0};
    for (const char *line = text, *next; *line; line = next) {
        size_t len = strcspn(line, "\n");
        next = line[len] ? line + len + 1 : line + len;
        const char *title = memchr(line, ':', len);
        if (text_starts(line, process) && title && !out->title) {
            title += strspn(title, ": ");
            out->title = mem_string_n(title, title < line + len ? (size_t)(line + len - title) : 0);
        } else if (text_starts(line, "Thread ")) {
            read_thread(out, line, len);
        } else if (text_starts(line, "    ") && len) {
            read_frame(out, line, len);
        }
    }
    if (out->title)
        return true;
    python_dump_clear(out);
    return false;
}

struct python_dump_problem python_dump_problem(const char *words)
{
    static const struct {
        const char *has;
        struct python_dump_problem problem;
    } table[] = {
        {"py-spy is not installed",
         {"py-spy is not installed on the node",
          "it must be in the cluster's Python environment: pip install py-spy on every node, or "
          "ray[default], which brings it"}},
        {"memray is not installed",
         {"memray is not installed on the node",
          "it must be in the cluster's Python environment: pip install memray on every node"}},
        {"lldb or gdb",
         {"memray needs gdb or lldb on the node, which has neither", "install gdb on the node"}},
        {"An unexpected error occurred. Run with --verbose",
         {"the node's debugger could not put memray into the process",
          "gdb before 14 cannot on processors with AMX (Intel Sapphire Rapids and later): install "
          "gdb 14 or later on the node, or pip install gdb-for-pwndbg in the cluster's Python "
          "environment, in front of the old one on Ray's PATH"}},
        {"'sudo'",
         {"this version of Ray starts py-spy by sudo, which the node does not have",
          "install sudo on the node, or a newer Ray"}},
        {"ermission",
         {"py-spy may not read processes on the node",
          "it needs root or the capability SYS_PTRACE; in Kubernetes "
          "securityContext.capabilities.add: [SYS_PTRACE]"}},
        {"Operation not permitted",
         {"py-spy may not read processes on the node",
          "it needs root or the capability SYS_PTRACE; in Kubernetes "
          "securityContext.capabilities.add: [SYS_PTRACE]"}},
        {"No stack counts found",
         {"it used no CPU", "--idle counts threads that wait, too, with Ray 2.60 or later"}},
        {"Failed to suspend process", {"the process is frozen (SIGSTOP)", NULL}},
        {"Failed to get process executable", {"the process has ended", NULL}},
        {"No such process", {"the process has ended", NULL}},
        {"did not answer", {"its node's agent did not answer in time", NULL}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strstr(words, table[i].has))
            return table[i].problem;
    return (struct python_dump_problem){0};
}
