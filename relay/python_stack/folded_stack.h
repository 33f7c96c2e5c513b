/* Reads folded stacks, as `py-spy record -f raw` writes them: a line for each stack, its frames
 * outermost first with a ; between two, and how often it was seen. Pure. */
#ifndef RAYDBG_RELAY_PYTHON_STACK_FOLDED_STACK_H
#define RAYDBG_RELAY_PYTHON_STACK_FOLDED_STACK_H

#include "relay/python_stack/python_dump.h"

/* A deeper stack is not read. */
enum { FOLDED_STACK_DEPTH = 4096 };

struct folded_stack {
    struct python_thread frames; /* innermost first; none if py-spy has seen none */
    uint64_t count;              /* below 10^9 */
};

/* True if every line can be read; also for no line at all. */
bool folded_stack_is_text(const char *text);
/* Reads the first line of such a text. Returns its length, with its end. */
size_t folded_stack_read(const char *text, struct folded_stack *out);
void folded_stack_clear(struct folded_stack *stack);

#endif
