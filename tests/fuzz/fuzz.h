/* The entry point of libFuzzer, and what the fuzzers share. */
#ifndef RAYDBG_TESTS_FUZZ_H
#define RAYDBG_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Optimised, all aborts of a function are one: the location is printed. */
#define check(condition) check_at(condition, #condition, __FILE__, __LINE__)

static inline void check_at(bool condition, const char *text, const char *file, int line)
{
    if (condition)
        return;
    fprintf(stderr, "%s:%d: check failed: %s\n", file, line, text);
    abort();
}

/* A copy of the exact size, so that a read behind it is seen; the caller frees. */
static inline char *copy_exact(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    check(copy);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

/* Lower-case hex digits of so many bytes, or "". */
static inline void check_hex(const char *text, size_t bytes)
{
    size_t len = strlen(text);
    check(len == 0 || len == 2 * bytes);
    check(strspn(text, "0123456789abcdef") == len);
}

#endif
