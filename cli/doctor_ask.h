/* Finds out everything that `raydbg doctor` judges: all at once, within DOCTOR_MS. */
#ifndef RAYDBG_CLI_DOCTOR_ASK_H
#define RAYDBG_CLI_DOCTOR_ASK_H

#include "cli/doctor_facts.h"

enum { DOCTOR_MS = 2400 };

/* `given` is --address, or NULL. What does not answer in time stays unanswered. -1 if there is no
 * loop to ask on. The facts are the caller's to clear, also then. */
int doctor_ask(struct doctor_facts *facts, const char *given, const struct relay_wish *wish,
               struct err *err);

#endif
