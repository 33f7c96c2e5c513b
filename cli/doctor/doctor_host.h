/* Looks at this machine for `raydbg doctor`: the environment, leftovers of relays, extensions. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_HOST_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_HOST_H

#include "cli/doctor/doctor_facts.h"

/* Connects to keepers only, to see whether they still listen, and disconnects at once. */
void doctor_host_look(struct doctor_here *here);

/* The version in the name of an extension's directory: "raydbg.raydbg-0.1.0-linux-x64" has
 * "0.1.0". False if it is another extension's. Pure. */
bool doctor_extension_version(const char *directory, char version[32]);

/* Finds the raydbg that a shell would run: its path if it is the command of PyPI's package raydbg,
 * which is another program; NULL if it is any other, or if there is none. `search` is the value of
 * PATH, or NULL. The caller frees the result. */
char *doctor_host_namesake(const char *search);

#endif
