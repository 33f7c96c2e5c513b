/* Reads the files of log choices, and gives what is shown of them. Callbacks run on the loop's
 * thread, never from within a call. */
#ifndef RAYDBG_RELAY_EVIDENCE_LOG_READER_H
#define RAYDBG_RELAY_EVIDENCE_LOG_READER_H

#include "relay/evidence/log_choice.h"
#include "relay/evidence/log_lines.h"
#include "relay/evidence/node_log.h"
#include "relay/io/loop.h"

struct log_reader_options {
    bool follow;
    int32_t tail;           /* the last lines of each file; -1: all */
    const char *stream;     /* only "out" or "err"; NULL: both */
    const regex_t *grep;    /* borrowed */
    int64_t since_ms;       /* leave out lines before it; 0: none */
    int64_t from_ms, to_ms; /* if `to_ms`: merge the lines of that time, each with it in front */
    bool terminal, colour;
    bool names; /* prefixes have the names of the subjects: there are several */
    /* To read of each file; 0: no limit. Past it the file's text says that some is left out. */
    size_t most_bytes;
};

struct log_reader_calls {
    void (*text)(void *arg, const char *bytes, size_t len);
    /* All files have been read; `err` is the first problem, or NULL: the others are shown all the
     * same. Not with `follow`. */
    void (*end)(void *arg, const struct err *err);
};

struct log_reader;

/* Borrows everything for its life. */
struct log_reader *log_reader_create(struct loop *loop, struct node_logs *logs,
                                     const struct log_reader_options *options,
                                     const struct log_reader_calls *calls, void *arg);
/* Reads the files of the choices that are not being read yet: one after the other, or with `follow`
 * all at once. Each line has a prefix if there is more than one file. The choices, and their
 * records, must live until `end`, with `follow` until log_reader_has_listed(). */
void log_reader_add(struct log_reader *reader, const struct log_choice *choices, size_t count);
/* True if no choice is needed any more. */
bool log_reader_has_listed(const struct log_reader *reader);
/* The callbacks do not run after it. */
void log_reader_destroy(struct log_reader **reader);

#endif
