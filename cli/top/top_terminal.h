/* Checks whether a full-screen program can run here. */
#ifndef RAYDBG_CLI_TOP_TOP_TERMINAL_H
#define RAYDBG_CLI_TOP_TOP_TERMINAL_H

#include "base/err.h"

/* 0 if stdin and stdout are a terminal that can move its cursor; else -1 with `err` set. */
int top_terminal_check(struct err *err);
/* Sets that error, with this reason; returns -1. */
int top_terminal_refuse(struct err *err, const char *why);

#endif
