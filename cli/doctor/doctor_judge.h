/* Makes the report from the facts. Pure. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_JUDGE_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_JUDGE_H

#include "cli/doctor/doctor_facts.h"
#include "cli/doctor/doctor_report.h"

/* Adds every check that there are facts for. */
void doctor_judge(const struct doctor_facts *facts, struct doctor_report *report);

#endif
