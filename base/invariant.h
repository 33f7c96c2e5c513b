/* Conditions that hold whatever input arrives. A broken one is a fault of raydbg's own and ends the
 * process where it is noticed, in released builds, too; the keeper then holds a relay's pauses.
 * Input from a client, a worker, a cluster or a file must never break one: check and answer it. */
#ifndef RAYDBG_BASE_INVARIANT_H
#define RAYDBG_BASE_INVARIANT_H

#include <stdint.h>

/* The location in the source that a broken invariant is reported with. */
struct invariant_location {
    const char *file;
    int line;
    const char *function;
};
#define INVARIANT_HERE ((struct invariant_location){__FILE__, __LINE__, __func__})

#define invariant(condition) ((condition) ? (void)0 : invariant_broken(INVARIANT_HERE, #condition))

/* Writes the location and the condition to stderr, and calls abort(). */
_Noreturn void invariant_broken(struct invariant_location location, const char *condition);

/* One state of a state machine, and the states that may follow it. */
struct invariant_state {
    const char *name;
    unsigned next; /* INVARIANT_TO() of each of those, or'ed */
};
#define INVARIANT_TO(state) (1U << (state))

/* Aborts unless states[from] allows `to`. `states` is indexed by state; `machine` names it in the
 * message. */
void invariant_move(struct invariant_location location, const char *machine,
                    const struct invariant_state *states, unsigned from, unsigned to);

/* A struct that comes back from a `void *` has a member `uint32_t magic`, which holds the struct's
 * number from its creation until it is freed. INVARIANT_MAGIC(hub, 0x…) defines
 *     void hub_set_magic(struct hub *);               call when it is created
 *     struct hub *hub_checked_at(location, void *);   see below
 *     void hub_clear_magic(struct hub *);             call right before it is freed
 * The header that has it adds `#define hub_checked(object) hub_checked_at(INVARIANT_HERE, object)`,
 * to be called where a hub comes back. */
#define INVARIANT_MAGIC(name, number)                                                              \
    static inline void name##_set_magic(struct name *object)                                       \
    {                                                                                              \
        object->magic = (number);                                                                  \
    }                                                                                              \
    static inline struct name *name##_checked_at(struct invariant_location location,               \
                                                 const void *object)                               \
    {                                                                                              \
        struct name *checked = (struct name *)object;                                              \
        if (!checked || checked->magic != (number))                                                \
            invariant_bad_magic(location, #name, checked ? &checked->magic : NULL, (number));      \
        return checked;                                                                            \
    }                                                                                              \
    static inline void name##_clear_magic(struct name *object)                                     \
    {                                                                                              \
        volatile uint32_t *magic = &object->magic;                                                 \
        if (*magic != (number))                                                                    \
            invariant_bad_magic(INVARIANT_HERE, #name, &object->magic, (number));                  \
        *magic = 0;                                                                                \
    }

/* Reports the magic number that was found in place of that of a `struct name`; `found` NULL: a
 * NULL pointer. */
_Noreturn void invariant_bad_magic(struct invariant_location location, const char *name,
                                   const uint32_t *found, uint32_t expected);

#endif
