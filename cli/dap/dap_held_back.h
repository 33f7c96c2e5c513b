/* A client's messages that wait for a relay. Pure. */
#ifndef RAYDBG_CLI_DAP_DAP_HELD_BACK_H
#define RAYDBG_CLI_DAP_DAP_HELD_BACK_H

#include <stddef.h>

struct held_back_message {
    struct held_back_message *next;
    size_t len;
    char json[];
};

/* All zero is valid and empty. */
struct held_back {
    struct held_back_message *first, *newest;
};

void held_back_add(struct held_back *messages, const char *json, size_t len);
/* Takes the oldest, which the caller frees; NULL: there is none. */
struct held_back_message *held_back_take(struct held_back *messages);
void held_back_clear(struct held_back *messages);

#endif
