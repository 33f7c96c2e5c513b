#include "relay/stack/stack_slice.h"

#include "base/mem.h"
#include "dap/splice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct stack_range stack_range_read(const char *json, const struct envelope *request)
{
    return (struct stack_range){
        .start = scan_count_at(json, request->arguments, "startFrame"),
        .levels = scan_count_at(json, request->arguments, "levels"),
    };
}

/* Returns the number of frames; `kept` spans those in `range`, with the commas between them. */
static int64_t cut(const char *json, struct span frames, struct stack_range range,
                   struct span *kept)
{
    struct span frame;
    size_t cursor = 0;
    int64_t index = 0;
    *kept = (struct span){frames.at + 1, 0};
    for (; scan_element(json, frames, &cursor, &frame); index++) {
        if (index < range.start || (range.levels && index - range.start >= range.levels))
            continue;
        if (!kept->len)
            kept->at = frame.at;
        kept->len = frame.at + frame.len - kept->at;
    }
    return index;
}

/* Writes `total` over the value of totalFrames, or adds totalFrames as the body's first member. */
static struct edit total_edit(const char *json, struct span body, int64_t total, char **text)
{
    struct span at;
    bool found = scan_find(json, body, "totalFrames", &at);
    if (!found)
        at = (struct span){body.at + 1, 0};
    *text = mem_format(found ? "%" PRId64 : "\"totalFrames\":%" PRId64 ",", total);
    return (struct edit){at, *text, strlen(*text)};
}

enum stack_slice stack_slice(const char *json, size_t len, const struct envelope *response,
                             struct stack_range range, struct buf *out)
{
    struct span frames, kept;
    int64_t total = 0;
    char *text;
    if (!response->success || !response->body.len ||
        !scan_find(json, response->body, "stackFrames", &frames) || json[frames.at] != '[')
        return STACK_SLICE_MISSING;
    int64_t count = cut(json, frames, range, &kept);
    bool says = scan_integer_at(json, response->body, "totalFrames", &total);
    bool in_reach = range.levels && range.levels <= count && range.start <= count - range.levels;
    if (says && total > count && !in_reach)
        return STACK_SLICE_MISSING;
    bool whole = !range.start && (!range.levels || range.levels >= count);
    if (whole && says && total == count)
        return STACK_SLICE_SAME;
    struct span inside = {frames.at + 1, frames.len - 2};
    struct edit slice = {inside, json + kept.at, kept.len};
    struct edit number = total_edit(json, response->body, total > count ? total : count, &text);
    bool first = slice.at.at < number.at.at;
    struct edit edits[2] = {first ? slice : number, first ? number : slice};
    splice_apply(json, len, edits, 2, out);
    free(text);
    return STACK_SLICE_CUT;
}
