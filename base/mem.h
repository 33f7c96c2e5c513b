/* Allocation that does not fail: a process that is out of memory aborts with one line. */
#ifndef RAYDBG_BASE_MEM_H
#define RAYDBG_BASE_MEM_H

#include <stddef.h>

/* Tunes malloc for a process that forwards messages of megabytes. Call once, before any thread
 * starts. Up to 3 MB of freed memory is kept for the next messages: glibc's own thresholds follow
 * the largest block it has seen, so that it either keeps dozens of megabytes or has the kernel
 * clear the same pages for each message. (A relay, which waits for days, keeps less:
 * cli/relay/relay_serve.c.) */
void mem_tune(void);

void *mem_alloc(size_t size);                           /* zeroed */
void *mem_array(size_t count, size_t size);             /* zeroed, overflow checked */
void *mem_resize(void *old, size_t count, size_t size); /* new part not zeroed */
/* The array with room for one more than `count` items: it is doubled when `room` is reached. */
void *mem_grow(void *items, size_t count, size_t *room, size_t size);
char *mem_string(const char *text);                /* NULL gives NULL */
char *mem_string_n(const char *bytes, size_t len); /* adds the NUL */
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
