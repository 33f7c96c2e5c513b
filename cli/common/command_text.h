/* The text of a command and its options: one table, from which come the command line's parser,
 * --help, the manual pages and the shells' completions. */
#ifndef RAYDBG_CLI_COMMON_COMMAND_TEXT_H
#define RAYDBG_CLI_COMMON_COMMAND_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The type of the field that an option sets:
 * OPTION_FLAG    bool: true, or false by a name that begins with "no-"
 * OPTION_STRING  const char *: points into argv
 * OPTION_LIST    struct option_list */
enum option_kind { OPTION_FLAG, OPTION_STRING, OPTION_LIST };

/* The completions that a shell offers where a word is expected; WORD_ANY: nothing. */
enum word_kind { WORD_ANY, WORD_FILE, WORD_TASK, WORD_COMMAND };

/* An option; or, without a name, a paragraph between options, which is its help. */
struct option_row {
    const char *name; /* without dashes */
    char letter;      /* or 0 */
    enum option_kind kind;
    size_t at;           /* the offset of its field in the command's struct */
    size_t most;         /* OPTION_LIST: how often it may be given; 0: any number of times */
    const char *value;   /* what the help calls its value; NULL: it has none */
    const char *words;   /* the values that it takes, with a space between two; NULL: any */
    const char *samples; /* some of the values that it takes, for completion; or NULL */
    enum word_kind word;
    const char *help; /* the completions show it up to its first ; : or . */
};

struct command_text {
    const char *name;
    const char *summary;  /* one line, for `raydbg help` */
    const char *synopsis; /* the usage without "raydbg", as `raydbg NAME -h` prints it */
    /* Text is broken into lines where it is printed; a line that begins with a space stays as it
     * is. Each may be NULL. */
    const char *intro, *notes, *examples;
    const char *exits; /* "0 done, 2 wrong usage" */
    const struct option_row *options;
    size_t option_count;
    enum word_kind operand;
    bool runs; /* the first operand is a program: all words behind it are the program's */
    const char *operands; /* the words that it takes, with a space between two, or NULL */
};

#endif
