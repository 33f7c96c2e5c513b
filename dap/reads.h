/* What only looks at a stopped debuggee, and what ends the truth of what was seen: one table for
 * the relay, which answers ahead (relay/ahead.h), the editor's end, which keeps the answers
 * (cli/dap_ahead.h), and who asks whether anything follows an answer by itself. Pure. */
#ifndef RAYDBG_DAP_READS_H
#define RAYDBG_DAP_READS_H

#include <stdbool.h>

/* Whether the answers to other requests are what they would have been without this one. Whatever is
 * not in the table may change something: an expression does what it says, `completions` evaluates
 * one. */
bool reads_only(const char *command);

/* Whether what was read before this event may be something else after it. */
bool reads_end_with(const char *event);

#endif
