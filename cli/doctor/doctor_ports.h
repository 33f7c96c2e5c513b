/* Tells whether ports are reachable from here, unnoticed by their programs.
 *
 * debugpy's adapter stops accepting for good when a client leaves before or during its greeting, or
 * when two clients come within milliseconds (measured: 1.8.0 and 1.8.22); Ray's pdb accepts once,
 * and its task dies when that client leaves. So no connection is made: a socket filter drops the
 * answer to our SYN and lets a refusal pass, and the socket's count of drops tells that there was
 * an answer. The other side's kernel forgets the half-open connection; accept() never returns
 * it. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_PORTS_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_PORTS_H

#include "cli/doctor/doctor_queries.h"

/* Adds a port, without trying it; past 256 it is only counted. `host` is a numeric address. */
void doctor_ports_add(struct doctor_ports *ports, const char *host, uint16_t port, int64_t pid);
void doctor_ports_clear(struct doctor_ports *ports);

/* Tries all ports at once; each is decided within 1.2 s. No port may be added afterwards. */
struct doctor_knock;
struct doctor_knock *doctor_knock(struct doctor_queries *queries, struct doctor_ports *ports);
void doctor_knock_stop(struct doctor_knock **knock);

#endif
