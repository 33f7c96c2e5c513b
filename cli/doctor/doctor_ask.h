/* Collects the facts that `raydbg doctor` judges: all at once, within DOCTOR_MS. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_ASK_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_ASK_H

#include "cli/doctor/doctor_facts.h"

enum { DOCTOR_MS = 2400 };

/* `given` is --address, or NULL. Questions without an answer in time stay unanswered. -1 if there
 * is no loop. The caller clears the facts, also after an error. */
int doctor_ask(struct doctor_facts *facts, const char *given, const struct relay_wish *wish,
               struct err *err);

#endif
