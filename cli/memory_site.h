/* Ray's call sites, shortened for people. Pure. */
#ifndef RAYDBG_CLI_MEMORY_SITE_H
#define RAYDBG_CLI_MEMORY_SITE_H

#include "base/buf.h"

#include <stdbool.h>

/* False for "" and for Ray's "<unknown>", which a borrower says. */
bool memory_site_known(const char *call_site);
/* Whether it is where a task got its argument; then `name`, which may be "", is the function's. */
bool memory_site_of_argument(const char *call_site, const char **name);

/* "(put object) | /app/train.py:main:12 | …" becomes "train.py:12 ray.put in main": the innermost
 * frame that is not Ray's own, and what it did. What has another form stays as it is. Appends. */
void memory_site(const char *call_site, struct buf *out);

#endif
