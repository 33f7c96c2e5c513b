/* Errors as values: what failed, why, and what the user can do about it. */
#ifndef RAYDBG_BASE_ERR_H
#define RAYDBG_BASE_ERR_H

/* Also the program's exit codes. */
enum err_code {
    ERR_NONE = 0,
    ERR_FAILED = 1,      /* anything not named below */
    ERR_USAGE = 2,       /* the user's input was wrong */
    ERR_NOT_FOUND = 3,   /* no such task, or several */
    ERR_DENIED = 4,      /* a token or a role is missing */
    ERR_UNREACHABLE = 5, /* the cluster, a node or a worker does not answer */
};

/* A plain value: copied freely, owns nothing. An empty string means that the line is absent. */
struct err {
    enum err_code code;
    char what[512];
    char why[512];
    char hint[512];
};

/* Sets code and `what`, and clears the other lines. Always returns -1, so that a function can end
 * with `return err_set(err, …)`. `err` may be NULL. */
int err_set(struct err *err, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the second and third line. Both return -1. */
int err_why(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
int err_hint(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "what: why (hint)" in one line, for places that have only one: a DAP response's message, a log.
 * Always NUL-terminated; text that does not fit is cut. */
void err_line(const struct err *err, char *out, unsigned long size);

#endif
