#include "base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 3 << 20, OWN_MAPPING = 2 << 20 };

void mem_tune(void)
{
    mallopt(M_TRIM_THRESHOLD, KEPT);
    mallopt(M_MMAP_THRESHOLD, OWN_MAPPING);
}

static void *check(void *memory)
{
    if (!memory) {
        fputs("raydbg: out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *mem_alloc(size_t size)
{
    return check(calloc(1, size ? size : 1));
}

void *mem_array(size_t count, size_t size)
{
    return check(calloc(count ? count : 1, size ? size : 1));
}

void *mem_resize(void *old, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        check(NULL);
    size_t bytes = count * size;
    return check(realloc(old, bytes ? bytes : 1));
}

void *mem_grow(void *items, size_t count, size_t *room, size_t size)
{
    enum { LEAST = 4 };
    if (count < *room)
        return items;
    *room = *room ? 2 * *room : LEAST;
    return mem_resize(items, *room, size);
}

char *mem_string(const char *text)
{
    return text ? mem_string_n(text, strlen(text)) : NULL;
}

char *mem_string_n(const char *bytes, size_t len)
{
    char *copy = mem_alloc(len + 1);
    if (len)
        memcpy(copy, bytes, len);
    return copy;
}

char *mem_format(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    return check(len < 0 ? NULL : text);
}
