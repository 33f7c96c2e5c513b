/* The answer to one question: what happened, why, and what to do. Owns everything in it. Texts are
 * Ray's and the program's own words in places: make them printable before they reach a terminal. */
#ifndef RAYDBG_RELAY_WHY_RECORDS_WHY_REPORT_H
#define RAYDBG_RELAY_WHY_RECORDS_WHY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct why_list {
    char **items;
    size_t count;
};

/* A frame of the user's program, innermost last, as Python prints a traceback. */
struct why_frame {
    char *file;
    int64_t line;
    char *function;
    bool is_users; /* neither Ray's nor of Python's library */
};

/* A link of the chain from what was asked to what it depended on. */
struct why_link {
    const char *kind; /* "task", "actor", "worker", "node", "job", "object", "group", "driver" */
    char *id;
    char *text; /* "worker pid 762@10.0.0.7, dead" */
};

struct why_report {
    const char *kind;        /* as of a link */
    char *id;                /* in full */
    char *name;              /* "" if it has none */
    char *state;             /* "failed", "dead", "waiting", "running", "finished", "alive", … */
    char *summary;           /* "job 01 · attempt 1 of 1 · failed 3 m ago after 0.4 s" */
    int64_t since_ms;        /* when the state began; 0: unknown */
    const char *code;        /* the cause, stable: "native_crash"; "unknown" */
    char *cause;             /* a sentence without its full stop */
    struct why_list details; /* more about the cause, each a line */
    struct why_frame *frames;
    size_t frame_count;
    struct why_link *chain;
    size_t chain_count;
    struct why_list ray;     /* what Ray does, or did, about it */
    struct why_list unknown; /* what is missing, and why */
    struct why_list next;    /* commands */
};

void why_report_clear(struct why_report *report);
void why_list_clear(struct why_list *list);

/* Each formats and appends, or sets. A line that is already there is not added again. */
void why_list_add(struct why_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void why_report_cause(struct why_report *report, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void why_report_link(struct why_report *report, const char *kind, const char *id,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
void why_report_frame(struct why_report *report, const char *file, size_t file_len, int64_t line,
                      const char *function, size_t function_len);

/* Adds the frames of a Python traceback, and of a fatal error's stack, whose innermost frame is
 * first. */
void why_report_traceback(struct why_report *report, const char *text);
/* The last line of a traceback, "ValueError: bad 3", without colours; the caller frees it. "" if
 * there is none. */
char *why_report_exception(const char *text);

/* "0.4 s", "3 m", "2 h"; of a time that is not known "?". Returns `out`. */
#define WHY_SPAN_TEXT 32
char *why_span(int64_t ms, char out[WHY_SPAN_TEXT]);
/* The first line, or up to Ray's list of common causes; without colours. The caller frees it. */
char *why_first_words(const char *text);

#endif
