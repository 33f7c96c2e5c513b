/* Finds the references in the repr of a container, as pydevd shows it (pydevd_safe_repr.py,
 * debugpy 1.8.22; what it cuts was measured):
 *
 * - pydevd walks tuple, list, set, frozenset, deque, dict and OrderedDict itself: 59 items and
 *   "..." on the first level, 19 and "..." on the second, only "..." below;
 * - every other repr is Python's, cut in its middle to 43,690 + "..." + 21,845 characters, or to
 *   85 + "..." + 42 within another container. Strings may be cut likewise, before they are quoted.
 *
 * A text that does not parse as a container throughout is rejected. */
#include "relay/annotate/annotate_state.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    OUTER_LEFT = 43690,
    OUTER_RIGHT = 21845,
    INNER_LEFT = 85,
    INNER_RIGHT = 42,
    DEPTH_LIMIT = 64
};

/* --- types --- */

static const struct container {
    const char *name;
    unsigned len;
    bool plain;
} containers[] = {
#define CONTAINER(name, plain)                                                                     \
    {                                                                                              \
        name, sizeof name - 1, plain                                                               \
    }
    CONTAINER("list", false),        CONTAINER("dict", false),
    CONTAINER("tuple", false),       CONTAINER("set", false),
    CONTAINER("frozenset", false),   CONTAINER("deque", false),
    CONTAINER("OrderedDict", false), CONTAINER("defaultdict", true),
    CONTAINER("Counter", true),      CONTAINER("dict_keys", true),
    CONTAINER("dict_values", true),  CONTAINER("dict_items", true),
    CONTAINER("odict_keys", true),   CONTAINER("odict_values", true),
    CONTAINER("odict_items", true),  CONTAINER("mappingproxy", true),
    CONTAINER("ChainMap", true),
#undef CONTAINER
};
enum { CONTAINERS = sizeof containers / sizeof *containers };

static const struct container *container_find(const char *type, size_t len)
{
    for (size_t i = 0; i < CONTAINERS; i++)
        if (containers[i].len == len && memcmp(containers[i].name, type, len) == 0)
            return &containers[i];
    return NULL;
}

bool annotate_refs_type(const char *type, size_t len, bool *plain)
{
    const struct container *found = container_find(type, len);
    if (found)
        *plain = found->plain;
    return found != NULL;
}

/* --- references --- */

/* These convert an id's digits; true if all are lower-case hex digits. */

#ifdef __SSE2__

/* Converts 16 digits to the 8 bytes of the lower half; a non-digit clears bits of `good`. */
static inline __m128i unhex_16(const char *hex, __m128i *good)
{
    __m128i text = _mm_loadu_si128((const __m128i *)(const void *)hex);
    __m128i digits = _mm_sub_epi8(text, _mm_set1_epi8('0'));
    __m128i letters = _mm_sub_epi8(text, _mm_set1_epi8('a'));
    __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
    __m128i is_letter = _mm_cmpeq_epi8(_mm_min_epu8(letters, _mm_set1_epi8(5)), letters);
    letters = _mm_add_epi8(letters, _mm_set1_epi8(10));
    *good = _mm_and_si128(*good, _mm_or_si128(is_digit, is_letter));
    __m128i values =
        _mm_or_si128(_mm_and_si128(is_digit, digits), _mm_and_si128(is_letter, letters));
    /* The first digit of a pair is the lane's lower byte, and the upper half of the result. */
    __m128i bytes = _mm_or_si128(_mm_slli_epi16(values, 4), _mm_srli_epi16(values, 8));
    bytes = _mm_and_si128(bytes, _mm_set1_epi16(0xFF));
    return _mm_packus_epi16(bytes, bytes);
}

/* Stores whole words, as object_probe() and copies of the id read them: a load that spans two
 * smaller stores stalls the processor. */
static bool unhex(const char *hex, struct object_id *out)
{
    _Static_assert(sizeof out->bytes == 28, "56 digits: three times 16, and 8 more");
    __m128i good = _mm_set1_epi8(-1);
    __m128i first = _mm_unpacklo_epi64(unhex_16(hex, &good), unhex_16(hex + 16, &good));
    __m128i third = unhex_16(hex + 32, &good), last = unhex_16(hex + 40, &good);
    int32_t rest = _mm_cvtsi128_si32(_mm_srli_si128(last, 4));
    _mm_storeu_si128((__m128i *)(void *)out->bytes, first);
    _mm_storel_epi64((__m128i *)(void *)(out->bytes + 16), third);
    memcpy(out->bytes + 24, &rest, sizeof rest);
    return _mm_movemask_epi8(good) == 0xFFFF;
}

#else

/* The value of a lower-case hex digit, or 0xF0. */
static unsigned digit(char c)
{
    unsigned value = (unsigned)(unsigned char)c - '0', letter = value - ('a' - '0');
    return value < 10 ? value : letter < 6 ? letter + 10 : 0xF0;
}

static bool unhex(const char *hex, struct object_id *out)
{
    unsigned bad = 0;
    for (size_t i = 0; i < sizeof out->bytes; i++) {
        unsigned high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
        bad |= high | low;
        out->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return bad < 0x10;
}

#endif

bool annotate_ref_read(const char *text, size_t len, struct object_id *out)
{
    static const char start[] = "ObjectRef(";
    if (len < ANNOTATE_REF_LEN || memcmp(text, start, sizeof start - 1) != 0 ||
        text[ANNOTATE_REF_LEN - 1] != ')')
        return false;
    return unhex(text + sizeof start - 1, out);
}

static uint64_t hash_of(const struct object_id *id)
{
    uint64_t head;
    uint32_t index;
    memcpy(&head, id->bytes, sizeof head);
    memcpy(&index, id->bytes + ID_TASK_BYTES, sizeof index);
    return hash_number(head ^ index);
}

static void refs_add(struct annotate_refs *refs, const struct object_id *id)
{
    uint64_t hash = hash_of(id);
    size_t cursor = 0;
    uintptr_t at;
    refs->total++;
    while (hash_index_next(&refs->index, hash, &cursor, &at))
        if (object_id_equal(&refs->ids[at], id))
            return;
    refs->ids = mem_grow(refs->ids, refs->count, &refs->cap, sizeof *refs->ids);
    hash_index_add(&refs->index, hash, refs->count);
    refs->ids[refs->count++] = *id;
}

static void refs_clear(struct annotate_refs *refs)
{
    refs->total = refs->count = 0;
    refs->cut = false;
    hash_index_clear(&refs->index);
}

void annotate_refs_free(struct annotate_refs *refs)
{
    free(refs->ids);
    hash_index_clear(&refs->index);
    *refs = (struct annotate_refs){0};
}

/* --- the repr --- */

/* The functions that read return false if the text does not parse; `at` is after the text read. */
struct repr {
    const char *text;
    size_t at, len;
    bool plain; /* Python's own repr: nothing inside it is cut */
    unsigned depth;
    struct annotate_refs *refs;
};

static bool repr_value(struct repr *repr, char within);

static char peek(const struct repr *repr)
{
    if (repr->at < repr->len)
        return repr->text[repr->at];
    return '\0';
}

static bool starts(const struct repr *repr, size_t at, const char *what)
{
    size_t len = strlen(what);
    return repr->len - at >= len && memcmp(repr->text + at, what, len) == 0;
}

static char closing(char open)
{
    switch (open) {
    case '[':
        return ']';
    case '(':
        return ')';
    case '{':
        return '}';
    default:
        return '\0';
    }
}

static bool is_close(char c)
{
    return c == ']' || c == ')' || c == '}';
}

/* True if a value can end at `at`; `within` is the bracket that must close next. */
static bool is_end(const struct repr *repr, size_t at, char within)
{
    if (at >= repr->len)
        return false;
    char c = repr->text[at];
    return c == ',' || is_close(c) || (within == '}' && starts(repr, at, ": "));
}

/* The offset `count` characters after `at`, at most `len`. */
static size_t skip_characters(const struct repr *repr, size_t at, size_t count)
{
    while (at < repr->len && count--)
        do
            at++;
        while (at < repr->len && (repr->text[at] & 0xC0) == 0x80);
    return at;
}

/* True if the string may end earlier: a cut one may begin and end with different quotes. */
static bool is_ambiguous(const struct repr *repr, size_t from, size_t to, char quote)
{
    const char *dots = memmem(repr->text + from, to - from, "...", 3);
    char other = quote == '"' ? '\'' : '"';
    if (!dots)
        return false;
    for (size_t at = (size_t)(dots - repr->text); at < to; at++)
        if (repr->text[at] == other && is_end(repr, at + 1, '}'))
            return true;
    return false;
}

static bool repr_string(struct repr *repr)
{
    size_t start = repr->at;
    char quote = repr->text[repr->at++];
    while (repr->at < repr->len) {
        char c = repr->text[repr->at++];
        if (c == quote)
            return repr->plain || !is_ambiguous(repr, start, repr->at, quote);
        if (c == '\\')
            repr->at++;
    }
    repr->at = repr->len;
    return false;
}

/* The end of a value of another class that pydevd has cut in its middle; 0 if it has not. */
static size_t cut_end(const struct repr *repr, size_t start, char within)
{
    size_t dots = skip_characters(repr, start, INNER_LEFT);
    if (repr->plain || !starts(repr, dots, "..."))
        return 0;
    size_t end = skip_characters(repr, dots + 3, INNER_RIGHT);
    return is_end(repr, end, within) ? end : 0;
}

/* Reads up to a value's end. Brackets, including "<>", and strings must be in pairs. */
static bool repr_balanced(struct repr *repr, char within)
{
    char due[DEPTH_LIMIT];
    size_t depth = 0;
    while (repr->at < repr->len) {
        char c = repr->text[repr->at];
        if (!depth && is_end(repr, repr->at, within))
            return true;
        if (c == '"' || c == '\'') {
            if (!repr_string(repr))
                return false;
            continue;
        }
        char close = closing(c);
        if (c == '<')
            close = '>';
        if (close && depth == DEPTH_LIMIT)
            return false;
        if (close)
            due[depth++] = close;
        else if (depth && c == due[depth - 1] && (c != '>' || repr->text[repr->at - 1] != '-'))
            depth--;
        else if (is_close(c))
            return false;
        repr->at++;
    }
    return false;
}

/* A number, or an instance of another class, whose references do not count. */
static bool repr_other(struct repr *repr, char within)
{
    size_t start = repr->at, cut = cut_end(repr, start, within);
    bool balanced = repr_balanced(repr, within);
    if (cut && (!balanced || repr->at > start + INNER_LEFT))
        repr->at = cut;
    return (balanced || cut) && repr->at > start;
}

/* `at` is behind the opening bracket. */
static bool repr_items(struct repr *repr, char close)
{
    if (repr->depth == DEPTH_LIMIT)
        return false;
    repr->depth++;
    while (peek(repr) != close) {
        if (!repr_value(repr, close))
            return false;
        if (close == '}' && starts(repr, repr->at, ": ")) {
            repr->at += 2;
            if (!repr_value(repr, close))
                return false;
        }
        if (peek(repr) == ',')
            repr->at += repr->at + 1 < repr->len && repr->text[repr->at + 1] == ' ' ? 2 : 1;
        else if (peek(repr) != close)
            return false;
    }
    repr->depth--;
    repr->at++;
    return true;
}

/* Reads the first part of a repr that was cut in its middle; the part may end anywhere. */
static bool repr_part(const struct repr *repr, size_t end)
{
    struct repr part = *repr;
    part.len = end;
    part.plain = true;
    repr_value(&part, '\0');
    repr->refs->cut = true;
    return part.at == end;
}

static bool is_name_character(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads `name(…)`. False, with `at` unchanged, if `name` is not a container's; else sets *good. */
static bool repr_named(struct repr *repr, char within, bool *good)
{
    size_t end = repr->at;
    while (end < repr->len && is_name_character(repr->text[end]))
        end++;
    const struct container *container = container_find(repr->text + repr->at, end - repr->at);
    if (!container || end == repr->len || repr->text[end] != '(')
        return false;
    size_t cut = container->plain && repr->depth ? cut_end(repr, repr->at, within) : 0;
    if (cut) {
        *good = repr_part(repr, skip_characters(repr, repr->at, INNER_LEFT));
        repr->at = cut;
        return true;
    }
    repr->at = end + 1;
    *good = repr_items(repr, ')');
    return true;
}

static bool repr_value(struct repr *repr, char within)
{
    struct object_id id;
    char c = peek(repr), close = closing(c);
    bool good = false;
    if (close) {
        repr->at++;
        return repr_items(repr, close);
    }
    if (c == '\'' || c == '"')
        return repr_string(repr);
    if (starts(repr, repr->at, "...")) {
        repr->at += 3;
        repr->refs->cut |= !repr->plain; /* in Python's own: a container that holds itself */
        return true;
    }
    if (c == 'O' && annotate_ref_read(repr->text + repr->at, repr->len - repr->at, &id)) {
        repr->at += ANNOTATE_REF_LEN;
        refs_add(repr->refs, &id);
        return true;
    }
    return repr_named(repr, within, &good) ? good : repr_other(repr, within);
}

/* The offset at which Python's repr was cut; 0 if it was not. */
static size_t outer_cut(const struct repr *repr)
{
    if (!repr->plain || repr->len < OUTER_LEFT + 3 + OUTER_RIGHT)
        return 0;
    size_t dots = skip_characters(repr, 0, OUTER_LEFT);
    if (!starts(repr, dots, "...") ||
        skip_characters(repr, dots + 3, OUTER_RIGHT - 1) >= repr->len ||
        skip_characters(repr, dots + 3, OUTER_RIGHT) != repr->len)
        return 0;
    return dots;
}

bool annotate_refs_read(const char *text, size_t len, bool plain, struct annotate_refs *refs)
{
    struct repr repr = {.text = text, .len = len, .plain = plain, .refs = refs};
    refs_clear(refs);
    size_t cut = outer_cut(&repr);
    if (cut)
        return repr_part(&repr, cut);
    bool good = false;
    if (!closing(peek(&repr)))
        return repr_named(&repr, '\0', &good) && good && repr.at == len;
    return repr_value(&repr, '\0') && repr.at == len;
}
