/* Adds members to the arguments of a client's request. Pure. */
#ifndef RAYDBG_CLI_DAP_DAP_ARGUMENTS_H
#define RAYDBG_CLI_DAP_DAP_ARGUMENTS_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>
#include <stddef.h>

struct dap_bridge_options;

/* Appends `"name":value,` unless `value` (JSON) is NULL or the request has such an argument. */
void dap_arguments_member(const char *json, const struct envelope *request, const char *name,
                          const char *value, struct buf *members);
/* Appends the request with these members added to its arguments. False if there are none, or if the
 * arguments are not an object. */
bool dap_arguments_request(const char *json, size_t len, const struct envelope *request,
                           const struct buf *members, struct buf *out);
/* The same with what the command line gives and the request lacks, for `initialize` and
 * `attach`. */
bool dap_arguments_by_options(const struct dap_bridge_options *options, const char *json,
                              size_t len, const struct envelope *request, struct buf *out);

#endif
