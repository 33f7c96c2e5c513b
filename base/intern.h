/* Equal texts, stored once: debugpy's capabilities are the same for thousands of debuggees. Call
 * on the loop's thread only. */
#ifndef RAYDBG_BASE_INTERN_H
#define RAYDBG_BASE_INTERN_H

#include <stddef.h>

/* The stored text, NUL-terminated. Each call needs one intern_drop(); the last one frees it. */
const char *intern_get(const char *text, size_t len);
/* Also sets *text to NULL; it may be NULL already. */
void intern_drop(const char **text);

#endif
