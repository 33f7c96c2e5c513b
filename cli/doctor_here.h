/* What `raydbg doctor` sees of this machine: the environment, leftovers of relays, extensions. */
#ifndef RAYDBG_CLI_DOCTOR_HERE_H
#define RAYDBG_CLI_DOCTOR_HERE_H

#include "cli/doctor_facts.h"

/* Asks nobody but keepers, whether they still listen: they are connected to, and left at once. */
void doctor_here_look(struct doctor_here *here);

/* The version in the name of an extension's directory: "raydbg.raydbg-0.1.0-linux-x64" has
 * "0.1.0". False if it is another extension's. Pure. */
bool doctor_extension_version(const char *directory, char version[32]);

#endif
