/* Looks for the debugpy of Ray's workers on this machine, as far as it can be seen: Ray imports it
 * from the packages that its raylet runs from, unless a job's runtime_env brings its own. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_DEBUGPY_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_DEBUGPY_H

#include "cli/doctor/doctor_facts.h"

/* Looks at the raylets in `proc` ("/proc") and at the packages beside them, which may be a
 * container's. The first raylet without debugpy counts. */
void doctor_debugpy_look(struct doctor_debugpy *debugpy, const char *proc);

#endif
