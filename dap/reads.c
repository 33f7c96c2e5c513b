#include "dap/reads.h"

#include "base/text.h"

#include <stddef.h>

static const char *const ends[] = {
    "capabilities", "continued", "exited", "initialized", "invalidated",
    "memory",       "stopped",   "thread", "terminated",
};

bool reads_end_with(const char *event)
{
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (text_equal(event, ends[i]))
            return true;
    return false;
}
