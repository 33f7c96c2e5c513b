#include "load/fault.h"

#include "base/text.h"
#include "load/canned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY "\"body\": " CANNED_FRONT
#define REQUEST_SEQ "\"request_seq\": "

struct fault_kind {
    const char *name;
    void (*apply)(struct buf *message, const struct buf *last, struct buf *out);
};

static void emit(const char *text, size_t len, struct buf *out)
{
    buf_printf(out, "Content-Length: %zu\r\n\r\n", len);
    buf_add(out, text, len);
}

static char *find(const struct buf *in, const char *what)
{
    return memmem(in->data, in->len, what, strlen(what));
}

static void drop(struct buf *message, const struct buf *last, struct buf *out)
{
    (void)message, (void)last, (void)out;
}

static void duplicate(struct buf *message, const struct buf *last, struct buf *out)
{
    (void)last;
    emit(message->data, message->len, out);
    emit(message->data, message->len, out);
}

/* One bit of one byte, some way into the body. */
static void flip(struct buf *message, const struct buf *last, struct buf *out)
{
    (void)last;
    size_t front = (size_t)(find(message, BODY) - message->data) + sizeof BODY + CANNED_TAG;
    size_t at = front + (message->len - front) * 2 / 3;
    message->data[at] = (char)((unsigned char)message->data[at] ^ 1u);
    emit(message->data, message->len, out);
}

/* A body that is one byte shorter, in a message whose length says so. */
static void shorten(struct buf *message, const struct buf *last, struct buf *out)
{
    (void)last;
    size_t at = (size_t)(find(message, "\"last\"") - message->data) + 1;
    memmove(message->data + at, message->data + at + 1, message->len - at - 1);
    emit(message->data, message->len - 1, out);
}

/* The answer to some other request. */
static void misnumber(struct buf *message, const struct buf *last, struct buf *out)
{
    (void)last;
    char *digit = find(message, REQUEST_SEQ) + sizeof REQUEST_SEQ - 1;
    *digit = *digit == '1' ? '2' : '1';
    emit(message->data, message->len, out);
}

/* The right number with the body of the answer before. */
static void repeat_body(struct buf *message, const struct buf *last, struct buf *out)
{
    struct buf mixed = {0};
    const struct buf *from = last->len ? last : message;
    const char *body = find(message, BODY), *old = find(from, BODY);
    buf_add(&mixed, message->data, (size_t)(body - message->data));
    buf_add(&mixed, old, (size_t)(from->data + from->len - old));
    emit(mixed.data, mixed.len, out);
    buf_free(&mixed);
}

/* The right number and tag with the rows of the answer before. */
static void repeat_rows(struct buf *message, const struct buf *last, struct buf *out)
{
    struct buf mixed = {0};
    const struct buf *from = last->len ? last : message;
    size_t front = sizeof BODY - 1 + CANNED_TAG;
    const char *rows = find(message, BODY) + front, *old = find(from, BODY) + front;
    buf_add(&mixed, message->data, (size_t)(rows - message->data));
    buf_add(&mixed, old, (size_t)(from->data + from->len - old));
    emit(mixed.data, mixed.len, out);
    buf_free(&mixed);
}

static const struct fault_kind kinds[] = {
    {"drop", drop},
    {"duplicate", duplicate},
    {"flip", flip},
    {"shorten", shorten},
    {"misnumber", misnumber},
    {"repeat-body", repeat_body},
    {"repeat-rows", repeat_rows},
};

bool fault_find(const char *name, struct fault *out)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_equal(kinds[i].name, name)) {
            out->kind = &kinds[i];
            return true;
        }
    return false;
}

const char *fault_names(void)
{
    return "drop, duplicate, flip, shorten, misnumber, repeat-body, repeat-rows";
}

static void pass_message(struct fault *fault, struct buf *message, struct buf *last,
                         struct buf *out)
{
    if (!find(message, BODY)) {
        emit(message->data, message->len, out);
        return;
    }
    if (++fault->seen % fault->every == 0)
        fault->kind->apply(message, last, out);
    else
        emit(message->data, message->len, out);
    buf_clear(last, SIZE_MAX);
    buf_add(last, message->data, message->len);
}

void fault_pass(struct fault *fault, struct buf *in, struct buf *last, struct buf *out)
{
    static const char name[] = "Content-Length: ";
    const char *end;
    while (in->len > sizeof name && (end = memmem(in->data, in->len, "\r\n\r\n", 4))) {
        size_t head = (size_t)(end + 4 - in->data);
        size_t size = strtoul(in->data + sizeof name - 1, NULL, 10);
        if (in->len - head < size)
            return;
        struct buf message = {0};
        buf_add(&message, in->data + head, size);
        pass_message(fault, &message, last, out);
        buf_free(&message);
        buf_consume(in, head + size);
    }
}
