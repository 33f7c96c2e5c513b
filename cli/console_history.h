/* The console's history: what was typed, in $XDG_STATE_HOME/raydbg/history, one line each, added as
 * it is typed, so that several consoles share it and none loses it. */
#ifndef RAYDBG_CLI_CONSOLE_HISTORY_H
#define RAYDBG_CLI_CONSOLE_HISTORY_H

#include <histedit.h>

struct history_file;

/* Never fails: without a file the history lives as long as the console. */
struct history_file *history_file_open(void);
void history_file_close(struct history_file **file);
History *history_file_history(struct history_file *file);
/* Not what is empty, begins with a space, or was typed just before. */
void history_file_add(struct history_file *file, const char *line);

#endif
