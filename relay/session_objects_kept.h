/* Answers to `variables` in one stop, each as it came and as it was sent: one that comes again,
 * byte for byte, need not be read and annotated again. Who asks is still answered by the debuggee:
 * that is how it is known to be the same. Bounded; pure. */
#ifndef RAYDBG_RELAY_SESSION_OBJECTS_KEPT_H
#define RAYDBG_RELAY_SESSION_OBJECTS_KEPT_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>

enum {
    KEPT_LEAST = 4096,     /* the bytes of an answer that is worth it */
    KEPT_BYTES = 4 << 20,  /* of all together; the oldest goes first */
    KEPT_HEAD_LIMIT = 1024 /* what may stand in front of the rows */
};

/* All that an answer was made from but its own bytes. */
struct kept_basis {
    int64_t reference, frame; /* that were asked about */
    int64_t facts;            /* objects_facts(); -1: it has nothing that they tell of */
    size_t known;             /* `changes` of struct known */
};

struct kept;

/* All zero is empty. */
struct kept_list {
    struct kept *first; /* the oldest */
    size_t bytes;
    uint64_t *prints; /* what kept_came_before() has seen, in turn; NULL: nothing */
    size_t next_print;
    bool used; /* since it was last set false */
};

void kept_clear(struct kept_list *list);

/* Where the rows of an answer start, which is the value of its body's first `variables`: what is in
 * front of them, its head, may be another one each time. `json` may be cut anywhere. 0: it does not
 * get there, or the head is no such one: of a success, with both numbers, and not too long. */
size_t kept_rows(const char *json, size_t len, const struct envelope *envelope);

/* Whether one of the same rows was asked about lately, as far as a fingerprint tells: most answers
 * never come again, so that one is kept only when it does. */
bool kept_came_before(struct kept_list *list, const char *rows, size_t len);

/* The answer whose bytes from the rows on are these; NULL: none. */
struct kept *kept_find(const struct kept_list *list, const char *rows, size_t len);
/* One of so many bytes from the rows on that begins with the first `have` of them. */
struct kept *kept_begins(const struct kept_list *list, const char *rows, size_t have, size_t total);
/* Whether these are the bytes at `at`, counted from the rows' start. */
bool kept_goes_on(const struct kept *kept, size_t at, const char *bytes, size_t len);
/* Whether it may be sent for a request of this basis. */
bool kept_holds(const struct kept *kept, const struct kept_basis *basis);

/* The message with the `head_len` bytes of another in front of the rows, whose envelope `head` is,
 * up to there: as it came, or as it was sent. Valid until the next such call for it or until it is
 * dropped; there is no copy. */
const char *kept_came(struct kept *kept, const char *json, size_t head_len,
                      const struct envelope *head, size_t *len, struct envelope *out);
/* NULL: as it came. */
const char *kept_sent(struct kept *kept, const char *json, size_t head_len,
                      const struct envelope *head, size_t *len, struct envelope *out);

/* Keeps an answer, instead of one that came with the same bytes; `edited` is what was made of it,
 * with the same head, or empty. `json` may be what kept_came() gave: that stays valid, all else
 * that was given may not. With `room`, `json` is in that buffer, where its rows start
 * KEPT_HEAD_LIMIT behind the buffer's start: it may be taken, and is empty then, but `json` stays
 * valid. */
void kept_put(struct kept_list *list, const struct kept_basis *basis, const char *json, size_t len,
              const struct envelope *envelope, const struct buf *edited, struct buf *room);

#endif
