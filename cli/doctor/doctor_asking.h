/* Counts the questions of `raydbg doctor` that have no answer yet. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_ASKING_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_ASKING_H

#include "cli/doctor/doctor_facts.h"
#include "relay/io/loop.h"

struct doctor_asking {
    struct loop *loop;
    struct doctor_facts *facts;
    size_t waiting; /* questions without an answer */
    bool done;      /* waiting is 0 */
};

void doctor_asking_begin(struct doctor_asking *asking);
void doctor_asking_end(struct doctor_asking *asking);

/* Notes an answer; `err` may be NULL. */
void doctor_question_answer(struct doctor_question *question, const struct err *err);

#endif
