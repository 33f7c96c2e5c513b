/* Whether ports are reachable from here, without their programs' knowing.
 *
 * debugpy's adapter stops accepting for good when who connects leaves before, or just as, it says
 * its greeting, or when two come within milliseconds (measured: 1.8.0 and 1.8.22); Ray's pdb
 * accepts once, and its task dies when that one leaves. So nobody is connected to: a socket filter
 * drops the answer to our SYN and lets a refusal pass, and the socket's count of drops tells that
 * there was an answer. The other side's kernel forgets the half-open connection; accept() never
 * returns it. */
#ifndef RAYDBG_CLI_DOCTOR_PORTS_H
#define RAYDBG_CLI_DOCTOR_PORTS_H

#include "cli/doctor_asking.h"

/* A row for a port, without asking; past 256 it is only counted. `host` is an address. */
void doctor_ports_add(struct doctor_ports *ports, const char *host, uint16_t port, int64_t pid);
void doctor_ports_clear(struct doctor_ports *ports);

/* Knocks at all rows at once; each is decided within 1.2 s. No row may be added from here on. */
struct doctor_knock;
struct doctor_knock *doctor_knock(struct doctor_asking *asking, struct doctor_ports *ports);
void doctor_knock_stop(struct doctor_knock **knock);

#endif
