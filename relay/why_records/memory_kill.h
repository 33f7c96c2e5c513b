/* Reads what Ray's memory monitor says of a kill: how full the node was, how much of that objects
 * were, what was chosen and why, and which processes had most. Pure.
 *
 * Source: WorkerTableData.exit_detail and RayErrorInfo.error_message of Ray 2.9 to 2.60. The text
 * was reworded in 2.56: it tells of the object store only since then. */
#ifndef RAYDBG_RELAY_WHY_RECORDS_MEMORY_KILL_H
#define RAYDBG_RELAY_WHY_RECORDS_MEMORY_KILL_H

#include "relay/why_records/why_report.h"

/* Adds what the text has to the report's details, and to what is unknown what it has not; nothing
 * if it is not such a text. */
void memory_kill_tell(const char *text, struct why_report *report);

#endif
