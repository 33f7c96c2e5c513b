/* Texts that many have alike, kept once: what debugpy says it can do is the same for thousands of
 * debuggees. For the loop's thread. */
#ifndef RAYDBG_RELAY_INTERN_H
#define RAYDBG_RELAY_INTERN_H

#include <stddef.h>

/* The text, NUL-terminated, until the last intern_drop(). */
const char *intern_get(const char *text, size_t len);
/* Clears the pointer; NULL is fine. */
void intern_drop(const char **text);

#endif
