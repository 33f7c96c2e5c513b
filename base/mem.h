/* Allocation that does not fail: a process that is out of memory aborts with one line. */
#ifndef RAYDBG_BASE_MEM_H
#define RAYDBG_BASE_MEM_H

#include <stddef.h>

/* For who passes on messages of megabytes; once, before threads. What is freed is kept for what
 * comes, but no more than 3 MB of it: by itself glibc goes by the largest block it has seen, and
 * either keeps dozens of megabytes or has the kernel clear the same pages for each message. (A
 * relay, which waits for days, keeps less: cli/relay_serve.c.) */
void mem_tune(void);

void *mem_alloc(size_t size);                           /* zeroed */
void *mem_array(size_t count, size_t size);             /* zeroed, overflow checked */
void *mem_resize(void *old, size_t count, size_t size); /* new part not zeroed */
char *mem_string(const char *text);                     /* NULL gives NULL */
char *mem_string_n(const char *bytes, size_t len);      /* adds the NUL */
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
