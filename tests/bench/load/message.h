/* The top-level members of a DAP message, read without the relay's code. */
#ifndef RAYDBG_LOAD_MESSAGE_H
#define RAYDBG_LOAD_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    const char *at;
    size_t len;
};

/* What a message does not have is 0, or empty. Strings are without their quotes, else as they came.
 */
struct message {
    long seq;
    long request_seq;
    bool success;
    struct text type;
    struct text name; /* command, or event */
    struct text why;  /* message */
    struct text body; /* or arguments */
};

/* `body_hint`: how long the body is expected to be, which saves reading it; 0 if nothing is
 * expected. If that fits, the body's bytes were not looked at. False: no JSON object. */
bool message_read(struct message *out, const char *json, size_t len, size_t body_hint);
bool message_is(struct text text, const char *what);
/* The integer, or the string, of the first member of that name in a text; not_found if none. */
long message_number(struct text in, const char *name, long not_found);
struct text message_string(struct text in, const char *name);

#endif
