/* Allocation that does not fail: a process that is out of memory aborts with one line. */
#ifndef RAYDBG_BASE_MEM_H
#define RAYDBG_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size);                           /* zeroed */
void *mem_array(size_t count, size_t size);             /* zeroed, overflow checked */
void *mem_resize(void *old, size_t count, size_t size); /* new part not zeroed */
char *mem_string(const char *text);                     /* NULL gives NULL */
char *mem_string_n(const char *bytes, size_t len);      /* adds the NUL */
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
