/* The first line of a connection on which a process has dialled the relay. Pure. */
#ifndef RAYDBG_RELAY_REVERSE_AGENT_LINE_H
#define RAYDBG_RELAY_REVERSE_AGENT_LINE_H

#include <stdbool.h>

#define AGENT_LINE_ROOM 256

enum agent_line_kind { AGENT_LINE_AGENT, AGENT_LINE_PYDEVD };

struct agent_line {
    enum agent_line_kind kind;
    char key_id[33]; /* AGENT_LINE_AGENT */
    char secret[65]; /* the agent's nonce, or pydevd's token: 64 hex digits */
};

/* Reads "raydbg agent 1 KEY-ID NONCE" or "raydbg pydevd 1 TOKEN"; false for all else. */
bool agent_line_read(struct agent_line *out, const char *line);

#endif
