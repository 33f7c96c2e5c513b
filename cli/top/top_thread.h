/* The background thread of `raydbg memory --top`, for work that keys must not wait for: it runs the
 * loop of the source, where a sweep of 200,000 references is read and joined, and makes the views.
 * The screen has its own loop, on the caller's thread. The two only post to each other. */
#ifndef RAYDBG_CLI_TOP_TOP_THREAD_H
#define RAYDBG_CLI_TOP_TOP_THREAD_H

#include "cli/memory/memory_source.h"
#include "cli/top/top_view.h"

/* A sweep that several views may use, with a count of its users; for the screen's thread. */
struct top_sweep {
    size_t users;
    struct object_sweep *sweep;
};

struct top_sweep *top_sweep_create(struct object_sweep *sweep); /* takes ownership; one user */
struct top_sweep *top_sweep_use(struct top_sweep *look);
void top_sweep_drop(struct top_sweep **look);

struct top_job {
    struct top_wanted wanted;
    struct top_sweep *look, *first; /* `first` NULL: no view of it is wanted */
    struct top_view *view, *first_view;
};

void top_job_free(struct top_job **job);

/* Called on the screen's thread, each once, never from within the call that asked. */
struct top_thread_ops {
    /* The callee owns the results; `err` is NULL on success. */
    void (*on_sweep)(void *arg, const struct err *err, struct object_sweep *sweep);
    void (*on_names)(void *arg, struct object_sweep *sweep);
    void (*on_detail)(void *arg);
    void (*on_pauses)(void *arg, const struct err *err, struct pause_list *pauses);
    void (*on_view)(void *arg, struct top_job *job);
};

struct top_thread;

/* Until top_thread_stop() `loop` and the source belong to the thread. NULL with `err` set if no
 * thread can be started. */
struct top_thread *top_thread_start(struct loop *screen, struct loop *loop,
                                    struct memory_source *source, const struct top_thread_ops *ops,
                                    void *arg, struct err *err);
/* No callback runs afterwards. A request to the source stays pending: destroy the source before its
 * loop runs again. Call top_thread_free() after the screen's loop is destroyed. */
void top_thread_stop(struct top_thread *back);
void top_thread_free(struct top_thread **back);

/* One request to the source at a time. A sweep that is given, and `rows`, must live, unchanged,
 * until the callback. */
void top_thread_ask_sweep(struct top_thread *back);
void top_thread_ask_names(struct top_thread *back, struct object_sweep *sweep,
                          const struct object_row *const *rows, size_t count);
void top_thread_ask_detail(struct top_thread *back, struct object_sweep *sweep,
                           const struct object_row *const *row);
void top_thread_ask_pauses(struct top_thread *back);

/* Takes ownership of the job; one at a time, even while the source is asked. */
void top_thread_make_view(struct top_thread *back, struct top_job *job);

#endif
