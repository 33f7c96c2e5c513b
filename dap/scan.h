/* A JSON scanner that yields byte spans and never builds a tree, so that unchanged values keep
 * their bytes: big integers, duplicate keys, lone surrogates, invalid UTF-8, NaN.
 *
 * It is strict about structure (brackets, commas, colons, strings, literals, depth) and lenient
 * about what debuggers send: NaN, Infinity and -Infinity are numbers; bytes >= 0x80 in strings are
 * not checked; control characters in strings are accepted. No I/O, no allocation. */
#ifndef RAYDBG_DAP_SCAN_H
#define RAYDBG_DAP_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_DEPTH_LIMIT 512

/* A run of bytes in the scanned text. A string's span includes its quotes. */
struct span {
    size_t at;
    size_t len;
};

struct scan {
    const char *text;
    size_t len;
    size_t at;
    const char *problem; /* NULL, or a static sentence about the text at `at` */
    bool strict;         /* see scan_strict() */
    size_t inside;       /* containers that scan_step() has entered: they count as depth */
};

void scan_init(struct scan *scan, const char *text, size_t len);

/* Skips white space and one value of any kind; false (and `problem`) if it is malformed. */
bool scan_value(struct scan *scan, struct span *value);
/* True if nothing but white space is left. */
bool scan_end(struct scan *scan);

/* True if Python's json module reads `text` as one value. It is stricter than scan_value(): no
 * control characters in strings, valid UTF-8, no integer of more than SCAN_DIGITS_LIMIT digits.
 * Never send debugpy a client's message that fails this: its adapter (1.8.22, measured) answers
 * nothing after it. False with `problem` set (static storage). */
#define SCAN_DIGITS_LIMIT 4300
bool scan_strict(const char *text, size_t len, const char **problem);

/* Steps through the members of an unchecked object in one pass: start with `scan` in front of the
 * object and *begun false. False behind the object's end, or with `problem` set. */
bool scan_step(struct scan *scan, bool *begun, struct span *key, struct span *value);

/* The same, but stops in front of the value: read it with scan_value(). If the text is cut between
 * key and value, returns false with `key` set. */
bool scan_step_key(struct scan *scan, bool *begun, struct span *key);

/* Iterates over the members of the object, or the elements of the array, that `within` spans
 * (a span that scan_value() has accepted). Start with *cursor = 0; false at the end.
 * `key` includes its quotes. */
bool scan_member(const char *text, struct span within, size_t *cursor, struct span *key,
                 struct span *value);
bool scan_element(const char *text, struct span within, size_t *cursor, struct span *value);

/* The value of the last member named `key` (JSON parsers also take the last), at the top level of
 * the object only. False if there is none or `object` is not an object. Keys are compared after
 * unescaping, so that "\u0073eq" is seq. */
bool scan_find(const char *text, struct span object, const char *key, struct span *value);
/* The same along a path of keys separated by '/': "body/threadId". */
bool scan_path(const char *text, struct span object, const char *path, struct span *value);

/* The offset behind the value, or the string, that starts at `at` in text that scan_value() has
 * accepted. Checks nothing, but never goes beyond `end`. For a pass that must be fast. */
size_t scan_skip(const char *text, size_t at, size_t end);
size_t scan_skip_string(const char *text, size_t at, size_t end);

bool scan_key_is(const char *text, struct span key, const char *name);
/* A whole number within int64, however it is written: 12, 12.0 and 1.2e1 are one number to a JSON
 * library that has doubles only. False for fractions, strings, overflow. */
bool scan_integer(const char *text, struct span value, int64_t *out);
/* Reads a JSON true or false into `out`; false, with `out` as it was, if the value is neither. */
bool scan_boolean(const char *text, struct span value, bool *out);
/* Unescapes a string into a new NUL-terminated string (the caller frees); NULL if the value is no
 * string. Lone surrogates become U+FFFD; so does NUL, escaped or not. */
char *scan_string(const char *text, struct span value);
/* The same of the value at a path of keys in `object`: false or NULL if there is none, too. */
bool scan_integer_at(const char *text, struct span object, const char *path, int64_t *out);
/* A positive integer, or 0 for everything else. */
int64_t scan_count_at(const char *text, struct span object, const char *path);
bool scan_boolean_at(const char *text, struct span object, const char *path, bool *out);
char *scan_string_at(const char *text, struct span object, const char *path);
/* Compares a string value with `expected`, after unescaping. */
bool scan_string_is(const char *text, struct span value, const char *expected);

#endif
