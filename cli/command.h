/* The table of commands that drives dispatch and help. */
#ifndef RAYDBG_CLI_COMMAND_H
#define RAYDBG_CLI_COMMAND_H

#include "base/err.h"

#include <stdbool.h>

struct command {
    const char *name;
    /* argv[0] is the command's name. Returns the process's exit code (base/err.h). */
    int (*run)(int argc, char **argv);
    const char *summary;  /* one line, for `raydbg help` */
    const char *synopsis; /* the usage line without "raydbg", as `raydbg NAME -h` prints it */
    const char *details;  /* the rest of `raydbg NAME --help`: options, examples, exit codes */
};

const struct command *command_find(const char *name);

/* Prints "raydbg: what", and why and hint below it, indented, to stderr; returns err->code. */
int command_fail(const struct err *err);
/* A usage error: prints `format` and the command's synopsis to stderr; returns ERR_USAGE. */
int command_usage(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* -h gives the short help, --help the whole; returns 0. */
int command_help(const char *name, bool whole);

int cmd_list(int argc, char **argv);
int cmd_memory(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_debug(int argc, char **argv);
int cmd_dap(int argc, char **argv);
int cmd_relay(int argc, char **argv);
int cmd_release(int argc, char **argv);
int cmd_hold(int argc, char **argv);
int cmd_continue(int argc, char **argv);
int cmd_sessions(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* cmd_attach.c: `raydbg attach TASK` with another prompt. */
struct relay_wish;
int attach_one(const char *task, const char *address, const struct relay_wish *wish,
               const char *prompt);

/* Their texts live beside their code. */
extern const char cmd_list_synopsis[], cmd_list_details[];
extern const char cmd_memory_synopsis[], cmd_memory_details[];
extern const char cmd_attach_synopsis[], cmd_attach_details[];
extern const char cmd_debug_synopsis[], cmd_debug_details[];
extern const char cmd_dap_synopsis[], cmd_dap_details[];
extern const char cmd_relay_synopsis[], cmd_relay_details[];
extern const char cmd_release_synopsis[], cmd_release_details[];
extern const char cmd_hold_synopsis[], cmd_hold_details[];
extern const char cmd_continue_synopsis[], cmd_continue_details[];
extern const char cmd_sessions_synopsis[], cmd_sessions_details[];
extern const char cmd_doctor_synopsis[], cmd_doctor_details[];

#endif
