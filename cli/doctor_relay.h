/* What a relay says: whether it lives, takes our token, what it holds. */
#ifndef RAYDBG_CLI_DOCTOR_RELAY_H
#define RAYDBG_CLI_DOCTOR_RELAY_H

#include "cli/doctor_asking.h"
#include "relay/relay_address.h"

struct doctor_visit;

/* Asks for all of facts->relay; the address is borrowed. */
struct doctor_visit *doctor_visit_start(struct doctor_asking *asking,
                                        const struct relay_address *relay);
void doctor_visit_stop(struct doctor_visit **visit);

/* Reads a relay's GET /metrics and GET /v1/pauses into the facts; false if it is none. Pure. */
bool doctor_relay_read_metrics(struct doctor_relay *relay, const char *text);
bool doctor_relay_read_list(struct doctor_relay *relay, const char *json, size_t len,
                            struct err *err);

#endif
