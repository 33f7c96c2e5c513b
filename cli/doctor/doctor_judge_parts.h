/* The checks that doctor_judge() adds beside its own: doctor_judge_debugpy.c and
 * doctor_judge_relay.c have them. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_JUDGE_PARTS_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_JUDGE_PARTS_H

#include "cli/doctor/doctor_facts.h"
#include "cli/doctor/doctor_report.h"

void doctor_judge_debugpy(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_judge_relay(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_judge_here(const struct doctor_facts *facts, struct doctor_report *report);

#endif
