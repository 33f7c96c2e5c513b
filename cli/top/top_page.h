/* A page of `raydbg memory --top`, as lines of cells with attributes, without a terminal. Pure. */
#ifndef RAYDBG_CLI_TOP_TOP_PAGE_H
#define RAYDBG_CLI_TOP_TOP_PAGE_H

#include <stdbool.h>
#include <stddef.h>

enum top_attr {
    TOP_PLAIN,
    TOP_BOLD,
    TOP_DIM,
    TOP_TITLE,    /* the line above a list */
    TOP_SELECTED, /* the line that Enter acts on */
    TOP_BAR,      /* the filled part of a bar */
    TOP_GROWN,
    TOP_SHRUNK,
    TOP_WARNING,
    TOP_KEY, /* what a key of the last line does */
    TOP_ATTR_COUNT,
};

struct top_cell {
    enum top_attr attr;
    char *text; /* printable */
};

struct top_line {
    struct top_cell *cells;
    size_t count;
    int width; /* columns used */
};

struct top_page {
    int columns, height; /* of the terminal */
    bool utf8;
    struct top_line *lines; /* `height` of them */
    int next;               /* the line that top_page_add() adds to */
    int cursor;             /* column of the text cursor in the last line; -1: hidden */
};

void top_page_init(struct top_page *page, int columns, int height, bool utf8);
void top_page_clear(struct top_page *page);

/* Adds text to the current line, made printable and cut to the columns left. */
void top_page_add(struct top_page *page, enum top_attr attr, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds `text` in exactly `width` columns: cut with an ellipsis, or filled up. */
void top_page_cell(struct top_page *page, enum top_attr attr, int width, bool right,
                   const char *text);
/* Columns left in the current line; 0 past the last one. */
int top_page_room(const struct top_page *page);
/* Fills the rest of the line in that attribute, and all of the line so far if `whole`. */
void top_page_fill(struct top_page *page, enum top_attr attr, bool whole);
/* Goes to the next line; nothing is added past the last one. */
void top_page_end_line(struct top_page *page);
void top_page_go(struct top_page *page, int line);

/* A line's text without attributes and trailing blanks, for tests; the caller frees it. */
char *top_page_text(const struct top_page *page, int line);

#endif
