/* Makes the report from the facts. Pure. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_JUDGE_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_JUDGE_H

#include "cli/doctor/doctor_facts.h"
#include "cli/doctor/doctor_report.h"

/* Adds every check that there are facts for. */
void doctor_judge(const struct doctor_facts *facts, struct doctor_report *report);

/* Parts of it, in doctor_judge_debugpy.c and doctor_judge_relay.c. */
void doctor_judge_debugpy(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_judge_relay(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_judge_here(const struct doctor_facts *facts, struct doctor_report *report);

#endif
