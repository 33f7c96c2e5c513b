/* Whether ports are reachable from here; and what the debugpy adapter behind one says of itself.
 *
 * An adapter greets whoever connects, before any request. A look reads that and leaves: no session
 * begins, and a client that is attached is told of nothing but one more `debugpySockets` event.
 * Never for the address of a legacy pdb: that accepts once, and the task dies when who connected
 * leaves. */
#ifndef RAYDBG_CLI_DOCTOR_PORTS_H
#define RAYDBG_CLI_DOCTOR_PORTS_H

#include "cli/doctor_asking.h"

enum doctor_port_kind { DOCTOR_RAYLET, DOCTOR_DEBUGPY };

/* A row for a port, without asking; past 256 it is only counted. */
void doctor_ports_add(struct doctor_ports *ports, const char *host, uint16_t port, int64_t pid);
void doctor_ports_clear(struct doctor_ports *ports);

/* Tries all rows at once. No row may be added from here on. */
struct doctor_knock;
struct doctor_knock *doctor_knock(struct doctor_asking *asking, struct doctor_ports *ports,
                                  enum doctor_port_kind kind);
void doctor_knock_stop(struct doctor_knock **knock);

/* What an adapter's first bytes say: 1 if its version is known, which goes to `debugpy`; 0 if more
 * must come; -1 if that is no debugpy. Pure. */
struct frame;
int doctor_greeting_read(struct frame *frame, const char *bytes, size_t len, char debugpy[32]);

#endif
