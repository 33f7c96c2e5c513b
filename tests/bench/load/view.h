/* One stopped thread's variables as a client sees them: what an answer's body has to be. */
#ifndef RAYDBG_LOAD_VIEW_H
#define RAYDBG_LOAD_VIEW_H

#include "base/buf.h"
#include "load/canned.h"
#include "load/message.h"
#include "load/stamps.h"

#include <stdbool.h>
#include <stdint.h>

struct view {
    long thread;
    long reference;
    struct canned_text expected; /* what follows the tag */
    struct stamps stamps;        /* where that is new each time */
    struct buf learned;          /* it is these bytes, or the adapter's */
    uint64_t learned_at;         /* when it changed last; 0: nothing learned yet */
};

/* What the adapter says. */
void view_expect(struct view *view, struct canned_text original);
void view_free(struct view *view);

/* Compares; false with `why` filled. */
bool view_check(struct view *view, struct text body, const char *tag, char *why, size_t size);
size_t view_body_size(const struct view *view);

/* For relays that rewrite bodies: takes one as the truth if all that the adapter said is still in
 * it, in its order; the numbers of variables may be others. True once it has been the same for
 * `settled` ns, and, if it `must_differ`, is not what the adapter said. */
bool view_learn(struct view *view, struct canned_text original, struct text body, const char *tag,
                bool must_differ, uint64_t now, uint64_t settled, char *why, size_t size);

#endif
