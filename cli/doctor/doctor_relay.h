/* Asks a relay whether it lives, whether it accepts our token, and what it holds. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_RELAY_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_RELAY_H

#include "cli/doctor/doctor_queries.h"
#include "relay/locate/relay_address.h"

struct doctor_visit;

/* Asks for all of facts->relay; borrows the address. */
struct doctor_visit *doctor_visit_start(struct doctor_queries *queries,
                                        const struct relay_address *relay);
void doctor_visit_stop(struct doctor_visit **visit);

/* Reads a relay's GET /metrics and GET /v1/pauses into the facts; false if the text is neither.
 * Pure. */
bool doctor_relay_read_metrics(struct doctor_relay *relay, const char *text);
bool doctor_relay_read_list(struct doctor_relay *relay, const char *json, size_t len,
                            struct err *err);

#endif
