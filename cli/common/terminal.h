/* The properties of the standard streams. */
#ifndef RAYDBG_CLI_COMMON_TERMINAL_H
#define RAYDBG_CLI_COMMON_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* True on a terminal, unless NO_COLOR is set or TERM=dumb. */
bool terminal_colour(FILE *stream);
bool terminal_utf8(void);
/* Columns of the terminal, or 100 where there is none. */
int terminal_columns(FILE *stream);
/* Rows of the terminal, or 40 where there is none. */
int terminal_rows(FILE *stream);
/* The width of a table: the terminal's; without a terminal wide enough that no cell is cut. */
int terminal_table_columns(FILE *stream);
/* Display columns of UTF-8 text. */
int terminal_width(const char *text);

/* A one-line progress note on stderr that shows only on a terminal, and only after 300 ms. */
struct progress;
struct progress *progress_start(const char *text);
void progress_stop(struct progress **progress); /* clears the line */

#endif
