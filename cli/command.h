/* The table of commands that drives dispatch and help. */
#ifndef RAYDBG_CLI_COMMAND_H
#define RAYDBG_CLI_COMMAND_H

#include "cli/common/command_usage.h"

#include <stddef.h>

/* The words of `raydbg help` and of raydbg(1). */
#define COMMAND_SUMMARY "debug Ray tasks and actors where they stopped"
#define COMMAND_EXITS                                                                              \
    "0 done, 1 failed, 2 wrong usage, 3 not found or ambiguous, 4 not allowed, 5 cluster "         \
    "unreachable"

struct command {
    const struct command_text *text;
    /* argv[0] is the command's name. Returns the process's exit code (base/err.h). */
    int (*run)(int argc, char **argv);
};

const struct command *command_find(const char *name);
/* The i-th command, in the order of `raydbg help`, or NULL behind the last. */
const struct command *command_at(size_t i);

int cmd_list(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_logs(int argc, char **argv);
int cmd_stack(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_timeline(int argc, char **argv);
int cmd_slow(int argc, char **argv);
int cmd_memory(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_debug(int argc, char **argv);
int cmd_dap(int argc, char **argv);
int cmd_relay(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_break(int argc, char **argv);
int cmd_env(int argc, char **argv);
int cmd_release(int argc, char **argv);
int cmd_hold(int argc, char **argv);
int cmd_continue(int argc, char **argv);
int cmd_sessions(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int command_completions_main(int argc, char **argv);
int command_help_main(int argc, char **argv);
int command_version_main(int argc, char **argv);

/* cmd_attach.c: `raydbg attach TASK` with another prompt. */
struct relay_wish;
int attach_one(const char *task, const char *address, const struct relay_wish *wish,
               const char *prompt);

extern const struct command_text cmd_list_text, cmd_why_text, cmd_logs_text, cmd_stack_text,
    cmd_profile_text, cmd_timeline_text, cmd_slow_text, cmd_memory_text, cmd_attach_text,
    cmd_debug_text, cmd_dap_text, cmd_relay_text, cmd_hold_text, cmd_continue_text,
    cmd_release_text, cmd_sessions_text, cmd_run_text, cmd_break_text, cmd_env_text,
    cmd_doctor_text, cmd_completions_text, cmd_help_text, cmd_version_text;

#endif
