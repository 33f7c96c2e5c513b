/* Counts the queries of `raydbg doctor` that have no answer yet. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_QUERIES_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_QUERIES_H

#include "cli/doctor/doctor_facts.h"
#include "relay/io/loop.h"

struct doctor_queries {
    struct loop *loop;
    struct doctor_facts *facts;
    size_t waiting; /* queries without an answer */
    bool done;      /* waiting is 0 */
};

void doctor_queries_begin(struct doctor_queries *queries);
void doctor_queries_end(struct doctor_queries *queries);

/* Notes an answer; `err` may be NULL. */
void doctor_answer_note(struct doctor_answer *answer, const struct err *err);

#endif
