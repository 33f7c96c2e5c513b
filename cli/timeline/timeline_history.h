/* The pauses of a relay's GET /v1/pauses/history, for a timeline. */
#ifndef RAYDBG_CLI_TIMELINE_TIMELINE_HISTORY_H
#define RAYDBG_CLI_TIMELINE_TIMELINE_HISTORY_H

#include "relay/timeline/timeline.h"

#include <stdbool.h>

struct timeline_history;

/* NULL if the text is no such answer. A pause without a worker's id is left out. */
struct timeline_history *timeline_history_read(const char *json, size_t len);
/* Borrowed; of NULL: none. */
const struct timeline_pauses *timeline_history_pauses(const struct timeline_history *history);
void timeline_history_free(struct timeline_history **history);

#endif
