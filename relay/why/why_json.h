/* Reports as JSON: what `raydbg why --format json` prints and GET /v1/why answers. Appends to
 * `out`; pure. */
#ifndef RAYDBG_RELAY_WHY_WHY_JSON_H
#define RAYDBG_RELAY_WHY_WHY_JSON_H

#include "base/buf.h"
#include "relay/why/why_overview.h"

void why_json_report(const struct why_report *report, struct buf *out);
/* Reads what why_json_report() has written; `report` is empty at first. False if it is something
 * else. The summary is made of what the JSON has. */
bool why_json_read(const char *json, struct why_report *report);
void why_json_overview(const struct why_records *records, const struct why_overview *overview,
                       struct buf *out);

#endif
