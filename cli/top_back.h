/* What keys of `raydbg memory --top` must not wait for, on a thread of its own: it runs the loop of
 * the source, where a look at 200,000 references is read and joined, and makes the views of them.
 * The screen has another loop, on the caller's thread. The two only post to each other. */
#ifndef RAYDBG_CLI_TOP_BACK_H
#define RAYDBG_CLI_TOP_BACK_H

#include "cli/memory_source.h"
#include "cli/top_view.h"

/* A sweep that several views may be of; for the screen's thread. */
struct top_look {
    size_t users;
    struct object_sweep *sweep;
};

struct top_look *top_look_create(struct object_sweep *sweep); /* takes it; one user */
struct top_look *top_look_use(struct top_look *look);
void top_look_drop(struct top_look **look);

struct top_job {
    struct top_wanted wanted;
    struct top_look *look, *first; /* `first` NULL: no view of it is wanted */
    struct top_view *view, *first_view;
};

void top_job_free(struct top_job **job);

/* On the screen's thread, each once, never from within the call that asked. */
struct top_back_ops {
    /* What the answer holds is the callee's; `err` NULL on success. */
    void (*on_sweep)(void *arg, const struct err *err, struct object_sweep *sweep);
    void (*on_names)(void *arg, struct object_sweep *sweep);
    void (*on_detail)(void *arg);
    void (*on_pauses)(void *arg, const struct err *err, struct pause_list *pauses);
    void (*on_view)(void *arg, struct top_job *job);
};

struct top_back;

/* Until top_back_stop() `loop` and the source are the thread's. NULL with `err` set if there can be
 * no thread. */
struct top_back *top_back_start(struct loop *screen, struct loop *loop,
                                struct memory_source *source, const struct top_back_ops *ops,
                                void *arg, struct err *err);
/* No callback runs any more. What the source has not answered stays asked: destroy the source
 * before its loop runs again. Free it after the screen's loop. */
void top_back_stop(struct top_back *back);
void top_back_free(struct top_back **back);

/* One question to the source at a time. A sweep that is given, and `rows`, must live until the
 * answer, untouched. */
void top_back_ask_sweep(struct top_back *back);
void top_back_ask_names(struct top_back *back, struct object_sweep *sweep,
                        const struct object_row *const *rows, size_t count);
void top_back_ask_detail(struct top_back *back, struct object_sweep *sweep,
                         const struct object_row *const *row);
void top_back_ask_pauses(struct top_back *back);

/* Takes the job; one at a time, whatever the source is asked. */
void top_back_make_view(struct top_back *back, struct top_job *job);

#endif
