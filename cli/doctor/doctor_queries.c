#include "cli/doctor/doctor_queries.h"

void doctor_queries_begin(struct doctor_queries *queries)
{
    queries->waiting++;
    queries->done = false;
}

void doctor_queries_end(struct doctor_queries *queries)
{
    queries->done = --queries->waiting == 0;
}

void doctor_answer_note(struct doctor_answer *answer, const struct err *err)
{
    answer->answered = true;
    answer->err = err ? *err : (struct err){0};
}
