/* Selects and sorts the pauses that a user wants to see. Pure. */
#ifndef RAYDBG_CLI_PAUSES_PAUSE_SELECT_H
#define RAYDBG_CLI_PAUSES_PAUSE_SELECT_H

#include "relay/pause/pause.h"

/* NULL: any. All borrowed. */
struct pause_select {
    const char *job, *node, *actor;
    bool all; /* idle workers too */
    bool has_state;
    enum pause_state state;
    int (*order)(const void *a, const void *b); /* of struct pause; NULL: keep the order */
};

/* False if there is no such key, or state. */
bool pause_select_sort(struct pause_select *select, const char *key);
bool pause_select_state(struct pause_select *select, const char *state);
/* "node, age, …", for messages. */
const char *pause_select_sorts(void);

/* Copies the pauses that match, in order. */
void pause_select_apply(const struct pause_select *select, const struct pause_list *list,
                        struct pause_list *out);

#endif
