/* Shortens Ray's call sites for display. Pure. */
#ifndef RAYDBG_CLI_COMMON_CALL_SITE_H
#define RAYDBG_CLI_COMMON_CALL_SITE_H

#include "base/buf.h"

#include <stdbool.h>

/* False for "" and for "<unknown>", which Ray's borrowers report. */
bool call_site_known(const char *call_site);
/* True if the call site is that of a task's argument; `name`, which may be "", is then the
 * function's. */
bool call_site_of_argument(const char *call_site, const char **name);

/* "(put object) | /app/train.py:main:12 | …" becomes "train.py:12 ray.put in main": the innermost
 * frame outside Ray, and the operation. Any other form is copied unchanged. Appends. */
void call_site_text(const char *call_site, struct buf *out);

#endif
