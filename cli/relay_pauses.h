/* What a relay answers to GET /v1/pauses, read back into pauses. Pure. */
#ifndef RAYDBG_CLI_RELAY_PAUSES_H
#define RAYDBG_CLI_RELAY_PAUSES_H

#include "relay/cluster.h"
#include "relay/pause.h"

#include <stddef.h>

struct relay_pauses {
    char cluster[512]; /* its address, "" if unknown */
    struct cluster_facts facts;
    struct pause_list pauses;
};

/* As pause_json_read(): -1 if it is no such answer. */
int relay_pauses_parse(struct relay_pauses *out, const char *json, size_t len, struct err *err);
void relay_pauses_clear(struct relay_pauses *pauses);

/* One pause, as POST /v1/pauses/{id}/… answers with. */
int relay_pause_parse(struct pause *out, const char *json, size_t len, struct err *err);

#endif
