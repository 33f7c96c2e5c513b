/* The TLS terminator: a helper process that has the TLS connections of agents and pydevds, and
 * passes their bytes to plain connections, whose other ends the relay has. To the relay such a
 * debuggee is like one that has dialled its loopback port. The state of TLS is in no descriptor, so
 * a keeper cannot hold it: it is in this process, which outlives the relay and ends with its last
 * connection. The plain connections are TCP on loopback, because the kernel counts their bytes
 * (socket_written()), as a relay that takes over needs it.
 *
 * Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_PORT_TLS_TERMINATOR_H
#define RAYDBG_RELAY_PORT_TLS_TERMINATOR_H

#include "base/err.h"

struct tls_terminator;

/* Starts the helper. NULL with `err` set if the certificate (PEM files) cannot be used, or there is
 * no process. */
struct tls_terminator *tls_terminator_start(const char *cert, const char *key, struct err *err);
/* The helper keeps the connections that it has, until their plain ends are closed. */
void tls_terminator_stop(struct tls_terminator **terminator);
/* Passes on the accepted connection `fd`, of which nothing has been read, and closes it here in any
 * case. If the helper has died, a new one takes its place. Returns the plain, non-blocking socket
 * on which its bytes come; -1 with errno set. When TLS cannot be agreed on, the plain socket ends
 * without a byte; when the network to the other machine is cut, with a reset. */
int tls_terminator_pass(struct tls_terminator *terminator, int fd);

#endif
