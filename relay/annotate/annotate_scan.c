#include "relay/annotate/annotate_scan.h"

#include "dap/bytes.h"
#include "relay/annotate/annotate_state.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static const char ref[] = "ObjectRef(", type_key[] = "\"type\"",
                  reference_key[] = "\"variablesReference\":";
enum {
    /* The offset of the R in each text. The scan looks for an R, because there are few of them. */
    REF_R = sizeof "Object" - 1,
    REFERENCE_R = sizeof "\"variables" - 1,
};

/* WAIT: only more bytes can decide, so the scan stops in front of them until they come. */
enum verdict { GO_ON, WAIT };

static bool type_applies(const char *name, size_t len)
{
    return (len == sizeof "ActorHandle" - 1 && memcmp(name, "ActorHandle", len) == 0) ||
           annotate_type_is_array(name, len);
}

/* The opening quote of the key "type" may be at `at`. */
static inline enum verdict look_at_type(struct annotate_scan *look, const char *json, size_t at,
                                        size_t len)
{
    size_t key = sizeof type_key - 1;
    if (len - at < key)
        return memcmp(json + at, type_key, len - at) == 0 ? WAIT : GO_ON;
    if (memcmp(json + at, type_key, key) != 0)
        return GO_ON;
    at = bytes_space_end(json, at + key, len);
    if (at < len && json[at] != ':')
        return GO_ON;
    at = at < len ? bytes_space_end(json, at + 1, len) : len;
    if (at == len)
        return WAIT;
    if (json[at] != '"')
        return GO_ON;
    size_t name = ++at;
    while (at < len && json[at] != '"')
        at++;
    if (at == len)
        return WAIT;
    look->applies = type_applies(json + name, at - name);
    return GO_ON;
}

static void add_reference(struct annotate_scan *look, int64_t reference)
{
    struct annotate_run *last = look->run_count ? &look->runs[look->run_count - 1] : NULL;
    if (last && reference == last->last + 1)
        last->last = reference;
    else if (look->run_count < ANNOTATE_RUNS)
        look->runs[look->run_count++] = (struct annotate_run){reference, reference};
    else
        look->scattered = true;
}

/* `at` is behind the key's colon. */
static inline enum verdict look_at_reference(struct annotate_scan *look, const char *json,
                                             size_t at, size_t len, bool whole)
{
    int64_t reference = 0;
    while (at < len && json[at] == ' ')
        at++;
    for (; at < len && json[at] >= '0' && json[at] <= '9' && reference < INT32_MAX; at++)
        reference = reference * 10 + (json[at] - '0');
    if (at == len && !whole)
        return WAIT;
    if (reference)
        add_reference(look, reference);
    return GO_ON;
}

/* True if the R at `at` is the one at offset `r` of `text`, compared as far as there are bytes. */
static inline bool stands_around(const char *json, size_t at, size_t len, const char *text,
                                 size_t text_len, size_t r)
{
    if (at < r)
        return false;
    if (len - at >= text_len - r)
        return memcmp(json + at - r, text, text_len) == 0;
    return memcmp(json + at - r, text, r + (len - at)) == 0;
}

static inline enum verdict look_at_r(struct annotate_scan *look, const char *json, size_t at,
                                     size_t len, bool whole)
{
    if (stands_around(json, at, len, reference_key, sizeof reference_key - 1, REFERENCE_R)) {
        size_t end = at + sizeof reference_key - 1 - REFERENCE_R;
        return end > len ? WAIT : look_at_reference(look, json, end, len, whole);
    }
    if (!stands_around(json, at, len, ref, sizeof ref - 1, REF_R))
        return GO_ON;
    if (at + sizeof ref - 1 - REF_R > len)
        return WAIT;
    look->applies = true;
    return GO_ON;
}

/* Looks at an R, or at a quote that a t or the end follows. True if the scan stops for now. */
static inline bool stops_at(struct annotate_scan *look, const char *json, size_t at, size_t len,
                            bool whole)
{
    enum verdict verdict =
        json[at] == 'R' ? look_at_r(look, json, at, len, whole) : look_at_type(look, json, at, len);
    bool waits = verdict == WAIT && !whole;
    if (waits)
        look->at = at;
    return waits || look->applies;
}

#ifdef __SSE2__
static bool look_at_blocks(struct annotate_scan *look, const char *json, size_t len, bool whole)
{
    const __m128i quote = _mm_set1_epi8('"'), t = _mm_set1_epi8('t'), r = _mm_set1_epi8('R');
    size_t at = look->at;
    for (; len - at > sizeof quote; at += sizeof quote) {
        const char *from = json + at;
        __m128i ones = _mm_loadu_si128((const __m128i *)(const void *)from);
        __m128i twos = _mm_loadu_si128((const __m128i *)(const void *)(from + 1));
        __m128i keys = _mm_and_si128(_mm_cmpeq_epi8(ones, quote), _mm_cmpeq_epi8(twos, t));
        unsigned hits = (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(ones, r), keys));
        for (; hits; hits &= hits - 1)
            if (stops_at(look, json, at + (size_t)__builtin_ctz(hits), len, whole))
                return true;
    }
    look->at = at;
    return false;
}
#else
static bool look_at_blocks(struct annotate_scan *look, const char *json, size_t len, bool whole)
{
    (void)look, (void)json, (void)len, (void)whole;
    return false;
}
#endif

void annotate_scan_on(struct annotate_scan *look, const char *json, size_t len, bool whole)
{
    if (look->applies || look_at_blocks(look, json, len, whole))
        return;
    for (; look->at < len; look->at++) {
        bool key = json[look->at] == '"' && (look->at + 1 == len || json[look->at + 1] == 't');
        if ((key || json[look->at] == 'R') && stops_at(look, json, look->at, len, whole))
            return;
    }
}

bool annotate_applies(const char *json, size_t len)
{
    struct annotate_scan look = {0};
    annotate_scan_on(&look, json, len, true);
    return look.applies;
}
