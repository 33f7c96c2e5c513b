#include "cli/doctor/doctor_asking.h"

void doctor_asking_begin(struct doctor_asking *asking)
{
    asking->waiting++;
    asking->done = false;
}

void doctor_asking_end(struct doctor_asking *asking)
{
    asking->done = --asking->waiting == 0;
}

void doctor_question_answer(struct doctor_question *question, const struct err *err)
{
    question->answered = true;
    question->err = err ? *err : (struct err){0};
}
