/* A client's `launch`: `raydbg run` in the client's terminal, and a session about the processes of
 * that run. The relay gets an `attach` instead; the run and this process talk over a private unix
 * socket, by lines of JSON:
 *
 *   dap   {"host","port","fingerprint","key_id","key","cwd"}   once, at the start
 *   run   {"event":"exited","code":N}            the program has ended
 *   dap   {"verb":"terminate"}                   end the program
 *
 * If this process ends or closes the socket, the program goes on. */
#ifndef RAYDBG_CLI_DAP_DAP_LAUNCH_H
#define RAYDBG_CLI_DAP_DAP_LAUNCH_H

#include "dap/envelope.h"
#include "relay/client/client.h"
#include "relay/io/loop.h"
#include "relay/locate/relay_address.h"

#include <stdbool.h>

struct dap_launch;

enum dap_launch_way {
    DAP_LAUNCH_PASS,   /* the message is not about a launch */
    DAP_LAUNCH_EDITED, /* another message goes to the relay instead */
    DAP_LAUNCH_TAKEN,  /* nothing goes to the relay */
};

/* All are borrowed. */
struct dap_launch *dap_launch_create(struct loop *loop, struct client *client,
                                     const struct relay_address *relay);
void dap_launch_destroy(struct dap_launch **launch);

/* Takes a message of the client's; with DAP_LAUNCH_EDITED `out` has what to send. */
enum dap_launch_way dap_launch_from_client(struct dap_launch *launch, const char *json, size_t len,
                                           const struct envelope *envelope, struct buf *out);
/* Takes a message of the relay's; true if the client must not get it. */
bool dap_launch_from_relay(struct dap_launch *launch, const char *json,
                           const struct envelope *envelope);
/* True from a launch until its program has ended. */
bool dap_launch_is_on(const struct dap_launch *launch);

#endif
