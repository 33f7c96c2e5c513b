/* Reads the text of `py-spy dump`. Pure. */
#ifndef RAYDBG_RELAY_PYTHON_STACK_PYTHON_DUMP_H
#define RAYDBG_RELAY_PYTHON_STACK_PYTHON_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_frame {
    char *function; /* "P.call", "<module>" */
    char *file;     /* in short, from the outermost package on: "ray/_private/worker.py" */
    int64_t line;   /* 0: unknown, as of a native frame */
};

struct python_thread {
    int64_t id;
    char *name; /* NULL: it has none */
    bool is_active, has_gil;
    struct python_frame *frames; /* innermost first */
    size_t count;
};

struct python_dump {
    char *title; /* of the process: "ray::call_a", "python app.py" */
    struct python_thread *threads;
    size_t count;
};

/* False, and nothing to clear, if the text is not py-spy's. */
bool python_dump_read(const char *text, struct python_dump *out);
void python_dump_clear(struct python_dump *dump);
void python_dump_clear_thread(struct python_thread *thread);

/* Reads a frame, "call (app.py:23)", "epoll_wait (libc.so.6)": names may have parentheses, too.
 * Text without a location is all a function's name, with the file "". The caller frees both. */
struct python_frame python_dump_frame(const char *text, size_t len);

/* Why py-spy gave no stack, from its words or the agent's: a short clause that is static, and what
 * to do about it, or NULL. Both NULL if the words are not known. */
struct python_dump_problem {
    const char *what, *hint;
};
struct python_dump_problem python_dump_problem(const char *words);

#endif
