#include "base/find.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

enum { LANES = sizeof(__m128i) };

static __m128i load(const char *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* Compares the first and the last byte at 16 places at once. Gives how far it has looked. */
static size_t look(const char *text, size_t len, const char *needle, size_t needle_len,
                   const char **found)
{
    __m128i first = _mm_set1_epi8(needle[0]), last = _mm_set1_epi8(needle[needle_len - 1]);
    size_t at = 0;
    for (; len - at >= LANES + needle_len - 1; at += LANES) {
        __m128i both = _mm_and_si128(_mm_cmpeq_epi8(load(text + at), first),
                                     _mm_cmpeq_epi8(load(text + at + needle_len - 1), last));
        for (int places = _mm_movemask_epi8(both); places; places &= places - 1) {
            *found = text + at + __builtin_ctz((unsigned)places);
            if (memcmp(*found + 1, needle + 1, needle_len - 2) == 0)
                return at;
        }
    }
    *found = NULL;
    return at;
}
#else
static size_t look(const char *text, size_t len, const char *needle, size_t needle_len,
                   const char **found)
{
    (void)text, (void)len, (void)needle, (void)needle_len;
    *found = NULL;
    return 0;
}
#endif

const char *find_bytes(const char *text, size_t len, const char *needle, size_t needle_len)
{
    const char *found;
    if (len < needle_len)
        return NULL;
    size_t at = look(text, len, needle, needle_len, &found);
    return found ? found : memmem(text + at, len - at, needle, needle_len);
}
