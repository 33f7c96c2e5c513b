/* Finds connections that wait to be accepted on a port of this machine, without connecting to
 * it. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_BACKLOG_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

/* Also false if nothing in this network namespace listens on exactly that IPv4 address. */
bool doctor_backlog_waits(const char *host, uint16_t port);

#endif
