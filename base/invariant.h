/* Conditions that hold whatever input arrives. A broken one is a fault of raydbg's own and ends the
 * process where it is noticed, in released builds, too; the keeper then holds a relay's pauses.
 * Input from a client, a worker, a cluster or a file must never break one: check and answer it. */
#ifndef RAYDBG_BASE_INVARIANT_H
#define RAYDBG_BASE_INVARIANT_H

#include <stdint.h>

#define invariant(condition)                                                                       \
    ((condition) ? (void)0 : invariant_broken(__FILE__, __LINE__, __func__, #condition))

/* Writes the place and the condition to stderr, and calls abort(). */
_Noreturn void invariant_broken(const char *file, int line, const char *function,
                                const char *condition);

/* One state of a state machine, and the states that may follow it. */
struct invariant_state {
    const char *name;
    unsigned next; /* INVARIANT_TO() of each of those, or'ed */
};
#define INVARIANT_TO(state) (1U << (state))

/* Aborts unless states[from] allows `to`. `states` is indexed by state; `what` names the machine in
 * the message. */
void invariant_move(const char *what, const struct invariant_state *states, unsigned from,
                    unsigned to);

/* A struct that comes back from a `void *` has a member `uint32_t magic`, which holds the struct's
 * number from its creation until it is freed. INVARIANT_MAGIC(hub, 0x…) defines
 *     void hub_set_magic(struct hub *);          call when it is created
 *     struct hub *hub_checked(void *);           call where it comes back
 *     void hub_clear_magic(struct hub *);        call right before it is freed */
#define INVARIANT_MAGIC(name, number)                                                              \
    static inline void name##_set_magic(struct name *object)                                       \
    {                                                                                              \
        object->magic = (number);                                                                  \
    }                                                                                              \
    static inline struct name *name##_checked(void *object)                                        \
    {                                                                                              \
        struct name *checked = object;                                                             \
        invariant(checked && checked->magic == (number));                                          \
        return checked;                                                                            \
    }                                                                                              \
    static inline void name##_clear_magic(struct name *object)                                     \
    {                                                                                              \
        volatile uint32_t *magic = &object->magic;                                                 \
        invariant(*magic == (number));                                                             \
        *magic = 0;                                                                                \
    }

#endif
