#include "relay/python_stack/folded_stack.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

enum { DIGITS = 9 };

/* The length of the stack of a line of `len` bytes: what is in front of the blank and the count. -1
 * if there is no such count. */
static int64_t read_count(const char *line, size_t len, uint64_t *count)
{
    size_t at = len;
    uint64_t unit = 1;
    *count = 0;
    for (; at > 0 && isdigit((unsigned char)line[at - 1]); at--, unit *= 10)
        if (len - at < DIGITS)
            *count += unit * (uint64_t)(line[at - 1] - '0');
    return at == 0 || at == len || len - at > DIGITS || line[at - 1] != ' ' ? -1 : (int64_t)at - 1;
}

/* The length of the outermost frame. A ; within a name does not end it: py-spy closes each frame
 * that has a file with a parenthesis. */
static size_t frame_length(const char *stack, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if (stack[i] == ';' && stack[i - 1] == ')')
            return i;
    return len;
}

static size_t count_frames(const char *stack, size_t len)
{
    size_t count = 0;
    for (size_t at = 0; at < len; count++)
        at += frame_length(stack + at, len - at) + 1;
    return count;
}

bool folded_stack_is_text(const char *text)
{
    uint64_t count;
    while (*text) {
        size_t len = strcspn(text, "\n");
        int64_t stack = read_count(text, len, &count);
        if (stack < 0 || count_frames(text, (size_t)stack) > FOLDED_STACK_DEPTH)
            return false;
        text += len + (text[len] == '\n');
    }
    return true;
}

size_t folded_stack_read(const char *text, struct folded_stack *out)
{
    size_t len = strcspn(text, "\n"), at = 0;
    *out = (struct folded_stack){0};
    size_t stack = (size_t)read_count(text, len, &out->count);
    size_t count = count_frames(text, stack);
    out->frames.frames = mem_array(count, sizeof *out->frames.frames);
    out->frames.count = count;
    for (size_t i = count; i-- > 0;) {
        size_t frame = frame_length(text + at, stack - at);
        out->frames.frames[i] = python_dump_frame(text + at, frame);
        at += frame + 1;
    }
    return len + (text[len] == '\n');
}

void folded_stack_clear(struct folded_stack *stack)
{
    python_dump_clear_thread(&stack->frames);
    *stack = (struct folded_stack){0};
}
