/* An agent's statements (relay/worker_agent) about its worker or driver and about the task on a
 * thread. They come from the user's process: ids of another form than Ray's are dropped. */
#ifndef RAYDBG_RELAY_PAUSE_AGENT_FACTS_H
#define RAYDBG_RELAY_PAUSE_AGENT_FACTS_H

#include "dap/scan.h"
#include "relay/pause/pause.h"

/* Sets the fields that the JSON object at `facts` has; the others stay. A driver is named after its
 * program: "driver train.py". */
void agent_facts_read(struct pause *pause, const char *json, struct span facts);
/* The same from the repr() of a Python string of hexadecimal digits; false if it is no such text.
 */
bool agent_facts_unhex(struct pause *pause, const char *repr);

#endif
