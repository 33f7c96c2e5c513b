#include "cli/text/console_block.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stddef.h>
#include <string.h>

/* The scan of one text: where its brackets, strings and logical lines are. */
struct scan {
    const char *at;
    int depth;
    bool cut;         /* ends within a string, or after a backslash */
    char first, last; /* of the logical line, without comments and white space; 0: none yet */
    bool any_body, last_body;
};

static void end_line(struct scan *scan)
{
    bool body = scan->last == ':' || scan->first == '@';
    if (!scan->first)
        return;
    scan->any_body = scan->any_body || body;
    scan->last_body = body;
    scan->first = scan->last = 0;
}

/* Skips a string. One without triple quotes ends with its line, which Python reports as an
 * error. */
static void skip_string(struct scan *scan)
{
    char quote = *scan->at;
    bool triple = scan->at[1] == quote && scan->at[2] == quote;
    for (scan->at += triple ? 3 : 1; *scan->at; scan->at++) {
        if (*scan->at == '\\' && scan->at[1]) {
            scan->at++;
        } else if (*scan->at == '\\') {
            break;
        } else if (triple && strncmp(scan->at, (char[]){quote, quote, quote, 0}, 3) == 0) {
            scan->at += 3;
            return;
        } else if (!triple && *scan->at == quote) {
            scan->at++;
            return;
        } else if (!triple && *scan->at == '\n') {
            return;
        }
    }
    scan->cut = triple || *scan->at == '\\';
    if (*scan->at)
        scan->at++;
}

static void take_character(struct scan *scan)
{
    char c = *scan->at++;
    if (c == '\\' && (!*scan->at || (*scan->at == '\n' && !scan->at[1]))) {
        scan->cut = true;
        return;
    }
    if (c == '\\' && *scan->at == '\n') {
        scan->at++;
        return;
    }
    if (strchr("([{", c))
        scan->depth++;
    else if (strchr(")]}", c) && scan->depth)
        scan->depth--;
    if (!scan->first)
        scan->first = c;
    scan->last = c;
}

static struct scan scan_text(const char *text)
{
    struct scan scan = {.at = text};
    while (*scan.at) {
        if (*scan.at == '#') {
            scan.at += strcspn(scan.at, "\n");
        } else if (*scan.at == '"' || *scan.at == '\'') {
            skip_string(&scan);
            if (!scan.first)
                scan.first = '"';
            scan.last = '"';
        } else if (*scan.at == '\n') {
            scan.at++;
            if (!scan.depth)
                end_line(&scan);
        } else if (strchr(" \t\r\f", *scan.at)) {
            scan.at++;
        } else {
            take_character(&scan);
        }
    }
    if (!scan.depth)
        end_line(&scan);
    return scan;
}

enum block_state block_state(const char *text)
{
    struct scan scan = scan_text(text);
    if (scan.depth || scan.cut)
        return BLOCK_OPEN;
    return scan.any_body ? BLOCK_BODY : BLOCK_WHOLE;
}

enum block_state block_state_pasted(const char *text)
{
    struct scan scan = scan_text(text);
    if (scan.depth || scan.cut)
        return BLOCK_OPEN;
    return scan.last_body ? BLOCK_BODY : BLOCK_WHOLE;
}

bool block_is_blank(const char *line)
{
    return !line[strspn(line, " \t\r\n")];
}

/* The length of the white space that all lines begin with, except blank ones. */
static size_t common_indent(const char *text, const char **indent)
{
    size_t common = 0;
    *indent = NULL;
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n"), blank = strspn(line, " \t");
        if (blank < len && !*indent) {
            *indent = line;
            common = blank;
        } else if (blank < len) {
            size_t same = 0;
            while (same < common && line[same] == (*indent)[same])
                same++;
            common = same;
        }
        line += len + (line[len] == '\n');
    }
    return common;
}

char *block_dedent(const char *text)
{
    struct buf out = {0};
    const char *indent;
    size_t common = common_indent(text, &indent), whole = 0;
    buf_reserve(&out, 1);
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        bool blank = strspn(line, " \t\r") >= len;
        if (!blank)
            buf_add(&out, line + common, len - common);
        if (!blank)
            whole = out.len;
        buf_add(&out, "\n", 1);
        line += len + (line[len] == '\n');
    }
    out.len = whole;
    buf_add(&out, "", 1);
    return buf_take(&out);
}
