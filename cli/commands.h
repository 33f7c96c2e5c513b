/* The functions and the texts of the commands, each defined in the file of its name: cmd_NAME.c. */
#ifndef RAYDBG_CLI_COMMANDS_H
#define RAYDBG_CLI_COMMANDS_H

#include "cli/common/command_usage.h"

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

/* cmd_attach.c: `raydbg attach TASK` with another prompt. */
struct relay_wish;
int attach_one(const char *task, const char *address, const struct relay_wish *wish,
               const char *prompt);

extern const struct command_text cmd_list_text, cmd_why_text, cmd_logs_text, cmd_stack_text,
    cmd_profile_text, cmd_timeline_text, cmd_slow_text, cmd_memory_text, cmd_attach_text,
    cmd_debug_text, cmd_dap_text, cmd_relay_text, cmd_hold_text, cmd_continue_text,
    cmd_release_text, cmd_sessions_text, cmd_run_text, cmd_break_text, cmd_env_text,
    cmd_doctor_text;

#endif
