/* From what was found out to what is said of it. Pure. */
#ifndef RAYDBG_CLI_DOCTOR_JUDGE_H
#define RAYDBG_CLI_DOCTOR_JUDGE_H

#include "cli/doctor_facts.h"
#include "cli/doctor_report.h"

/* Adds every check that there are facts for. */
void doctor_judge(const struct doctor_facts *facts, struct doctor_report *report);

/* Parts of it, each in a file of its own. */
void doctor_judge_relay(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_judge_here(const struct doctor_facts *facts, struct doctor_report *report);

#endif
