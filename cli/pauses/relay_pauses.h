/* Reads a relay's response to GET /v1/pauses into pauses. Pure. */
#ifndef RAYDBG_CLI_PAUSES_RELAY_PAUSES_H
#define RAYDBG_CLI_PAUSES_RELAY_PAUSES_H

#include "relay/cluster/cluster.h"
#include "relay/pause/pause.h"

#include <stddef.h>

struct relay_pauses {
    char cluster[512]; /* its address, "" if unknown */
    struct cluster_facts facts;
    struct pause_list pauses;
};

/* Like pause_json_read(); -1 if the text is something else. */
int relay_pauses_parse(struct relay_pauses *out, const char *json, size_t len, struct err *err);
void relay_pauses_clear(struct relay_pauses *pauses);

/* Reads one pause, the response to POST /v1/pauses/{id}/…. */
int relay_pause_parse(struct pause *out, const char *json, size_t len, struct err *err);

#endif
