/* Searches a text for certain bytes: 16 at a time with SSE2, which every x86-64 has, else 8 or 1 at
 * a time, with the same results. Each search starts at `at`, which is at most `len`, the text's
 * length, and returns an offset, or `len` if it finds nothing. Inline, because most runs that they
 * skip are short. */
#ifndef RAYDBG_DAP_BYTES_H
#define RAYDBG_DAP_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BYTES_EACH(c) (UINT64_C(0x0101010101010101) * (uint64_t)(c))

/* Nonzero if a byte of the word is zero; the lowest bit set is in the lowest such byte. */
static inline uint64_t bytes_zero(uint64_t word)
{
    return (word - BYTES_EACH(1)) & ~word & BYTES_EACH(0x80);
}

static inline bool bytes_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Skips JSON's white space, which is nearly always one space or none. */
static inline size_t bytes_space_end(const char *text, size_t at, size_t len)
{
    while (at < len && text[at] <= ' ' && bytes_is_space(text[at]))
        at++;
    return at;
}

/* The next quote or backslash: the end of a string's run of plain bytes. */
static inline size_t bytes_plain_end_portable(const char *text, size_t at, size_t len)
{
    uint64_t word;
    while (len - at >= sizeof word) {
        memcpy(&word, text + at, sizeof word);
        uint64_t found = bytes_zero(word ^ BYTES_EACH('"')) | bytes_zero(word ^ BYTES_EACH('\\'));
        if (found && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
            return at + (size_t)__builtin_ctzll(found) / 8;
        if (found)
            break;
        at += sizeof word;
    }
    while (at < len && text[at] != '"' && text[at] != '\\')
        at++;
    return at;
}

/* The next quote, or bracket of any kind: the only bytes that matter in a skipped container. */
static inline size_t bytes_structure_portable(const char *text, size_t at, size_t len)
{
    while (at < len && text[at] != '"' && (text[at] | 0x20) != '{' && (text[at] | 0x20) != '}')
        at++;
    return at;
}

/* The next occurrence of `needle`, which has at least two bytes. */
static inline size_t bytes_find_portable(const char *text, size_t at, size_t len,
                                         const char *needle, size_t needle_len)
{
    const char *found = memmem(text + at, len - at, needle, needle_len);
    return found ? (size_t)(found - text) : len;
}

#ifdef __SSE2__

static inline size_t bytes_plain_end(const char *text, size_t at, size_t len)
{
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    for (; len - at >= sizeof quote; at += sizeof quote) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + at));
        int found = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
        if (found)
            return at + (size_t)__builtin_ctz((unsigned)found);
    }
    return bytes_plain_end_portable(text, at, len);
}

static inline size_t bytes_structure(const char *text, size_t at, size_t len)
{
    /* '[' and ']' differ from '{' and '}' in one bit. */
    const __m128i quote = _mm_set1_epi8('"'), bit = _mm_set1_epi8(0x20);
    const __m128i opening = _mm_set1_epi8('{'), closing = _mm_set1_epi8('}');
    for (; len - at >= sizeof quote; at += sizeof quote) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + at));
        __m128i brackets = _mm_or_si128(bytes, bit);
        __m128i hits =
            _mm_or_si128(_mm_cmpeq_epi8(brackets, opening), _mm_cmpeq_epi8(brackets, closing));
        int found = _mm_movemask_epi8(_mm_or_si128(hits, _mm_cmpeq_epi8(bytes, quote)));
        if (found)
            return at + (size_t)__builtin_ctz((unsigned)found);
    }
    return bytes_structure_portable(text, at, len);
}

/* memmem() is made for long needles; for a key, the first two bytes nearly always decide. */
static inline size_t bytes_find(const char *text, size_t at, size_t len, const char *needle,
                                size_t needle_len)
{
    const __m128i first = _mm_set1_epi8(needle[0]), second = _mm_set1_epi8(needle[1]);
    for (; len - at >= sizeof first + needle_len; at += sizeof first) {
        const char *from = text + at;
        __m128i ones = _mm_loadu_si128((const __m128i *)(const void *)from);
        __m128i twos = _mm_loadu_si128((const __m128i *)(const void *)(from + 1));
        unsigned hits = (unsigned)_mm_movemask_epi8(
            _mm_and_si128(_mm_cmpeq_epi8(ones, first), _mm_cmpeq_epi8(twos, second)));
        for (; hits; hits &= hits - 1) {
            size_t hit = (size_t)__builtin_ctz(hits);
            if (memcmp(from + hit, needle, needle_len) == 0)
                return at + hit;
        }
    }
    return bytes_find_portable(text, at, len, needle, needle_len);
}

#else

static inline size_t bytes_find(const char *text, size_t at, size_t len, const char *needle,
                                size_t needle_len)
{
    return bytes_find_portable(text, at, len, needle, needle_len);
}

static inline size_t bytes_plain_end(const char *text, size_t at, size_t len)
{
    return bytes_plain_end_portable(text, at, len);
}

static inline size_t bytes_structure(const char *text, size_t at, size_t len)
{
    return bytes_structure_portable(text, at, len);
}

#endif

#endif
