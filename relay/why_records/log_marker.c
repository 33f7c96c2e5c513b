#include "relay/why_records/log_marker.h"

#include <string.h>

const char log_marker_task[] = ":task_name:";
static const char *const markers[] = {":job_id:", log_marker_task, ":actor_name:"};

bool log_marker_is(const char *line, size_t len)
{
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
        if (len >= strlen(markers[i]) && memcmp(line, markers[i], strlen(markers[i])) == 0)
            return true;
    return false;
}
