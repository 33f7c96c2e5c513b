/* Whether connections wait to be accepted on a port of this machine, without connecting to it. */
#ifndef RAYDBG_CLI_DOCTOR_BACKLOG_H
#define RAYDBG_CLI_DOCTOR_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

/* False also if nothing of this network namespace listens at exactly that IPv4 address. */
bool doctor_backlog_waits(const char *host, uint16_t port);

#endif
