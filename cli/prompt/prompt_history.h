/* The console's history: the commands that were typed, in $XDG_STATE_HOME/raydbg/history, one per
 * line. Each is added at once, so that several consoles share the file and none loses a command. */
#ifndef RAYDBG_CLI_PROMPT_PROMPT_HISTORY_H
#define RAYDBG_CLI_PROMPT_PROMPT_HISTORY_H

#include <histedit.h>

struct history_file;

/* Never fails: without a file the history lives as long as the console. */
struct history_file *history_file_open(void);
void history_file_close(struct history_file **file);
History *history_file_history(struct history_file *file);
/* Skips lines that are empty, begin with a space, or repeat the one before. */
void history_file_add(struct history_file *file, const char *line);

#endif
