/* The arguments of a client's `attach`: what is raydbg's own, and what debugpy gets. Pure. */
#ifndef RAYDBG_RELAY_ATTACH_ARGUMENTS_H
#define RAYDBG_RELAY_ATTACH_ARGUMENTS_H

#include "base/err.h"
#include "dap/scan.h"
#include "relay/annotate.h"

#include <stdbool.h>
#include <stdint.h>

/* Strings are owned; NULL where the client said nothing. */
struct attach_arguments {
    char *address;
    char *task;
    char *connect_host; /* "connect": {"host", "port"} or "HOST:PORT": no discovery */
    uint16_t connect_port;
    bool sub_process;
    bool kill;
    bool no_tune;
    char *token;                 /* a relay's */
    bool observe;                /* "role": "observer" */
    bool take_over;              /* "takeOver" */
    bool continue_on_disconnect; /* "onDisconnect": "continue" */
    /* "objectStore": {"annotate": "auto"|"off", "unit": "auto"|"B"|"KB"|"MB"|"GB",
     * "fields": ["size", "owner", "state"], "scope": true|false} */
    struct annotate_options objects;
    bool no_object_scope;
    /* For debugpy: every other member with the bytes it came with, justMyCode off (on Python
     * <= 3.11 breakpoint() would never stop: debugpy-facts 0.7), and none that makes the adapter
     * look for another process. */
    char *upstream;
};

/* `arguments` may be empty (len 0). A member of the wrong type is an error that names it. */
int attach_arguments_read(struct attach_arguments *out, const char *json, struct span arguments,
                          struct err *err);
void attach_arguments_clear(struct attach_arguments *arguments);

/* The arguments of `initialize` for the adapter, from the client's own (len 0: none): what only
 * concerns reverse requests is taken out unless `sub_process`. The caller frees. */
char *initialize_arguments(const char *json, struct span arguments, bool sub_process);

#endif
