#include "proto/job_id.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

char *job_id_brief(const char *job_id, char out[ID_TEXT(ID_JOB_BYTES)])
{
    text_copy(out, ID_TEXT(ID_JOB_BYTES), job_id);
    for (size_t len = strlen(out); len > 2 && text_ends(out, "00"); len -= 2)
        out[len - 2] = '\0';
    return out;
}

bool job_id_is(const char *job_id, const char *text)
{
    char brief[ID_TEXT(ID_JOB_BYTES)];
    return *text &&
           (strcasecmp(job_id, text) == 0 || strcasecmp(job_id_brief(job_id, brief), text) == 0);
}
