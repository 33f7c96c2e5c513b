#include "dap/dap_command.h"

#include "base/text.h"

#include <stddef.h>

enum {
    READS = DAP_COMMAND_READS,
    OBSERVES = DAP_COMMAND_OBSERVES,
    LOOKS = READS | OBSERVES,
    STOPPED = DAP_COMMAND_NEEDS_STOPPED,
    ENDS = DAP_COMMAND_ENDS_STOP,
    AUDITED = DAP_COMMAND_AUDITED,
    VALUES = DAP_COMMAND_HAS_VALUES,
    MOVES = ENDS | AUDITED,
    RUNS = MOVES | DAP_COMMAND_RESUMES,
    STEPS = RUNS | DAP_COMMAND_STEPS | STOPPED,
};

static const struct {
    const char *name;
    unsigned kinds;
} commands[] = {
    {"breakpointLocations", READS},
    {"cancel", OBSERVES},
    {"completions", OBSERVES},
    {"configurationDone", OBSERVES},
    {"continue", RUNS},
    {"debugpySystemInfo", OBSERVES},
    {"disassemble", READS},
    {"disconnect", OBSERVES | ENDS},
    {"evaluate", AUDITED | VALUES},
    {"exceptionInfo", LOOKS | STOPPED},
    {"goto", MOVES},
    {"gotoTargets", OBSERVES},
    {"loadedSources", READS},
    {"modules", LOOKS},
    {"next", STEPS},
    {"pause", AUDITED},
    {"pydevdSystemInfo", OBSERVES},
    {"raydbg/clusterObjects", READS},
    {"raydbg/objects", LOOKS},
    {"raydbg/release", ENDS},
    {"raydbg/stepIntoRemote", MOVES | STOPPED},
    {"raydbg/stepOutToGet", MOVES | STOPPED},
    {"readMemory", READS},
    {"scopes", LOOKS | VALUES},
    {"setExpression", AUDITED | VALUES},
    {"setVariable", AUDITED | VALUES},
    {"source", LOOKS},
    {"stackTrace", LOOKS | STOPPED},
    {"stepIn", STEPS},
    {"stepInTargets", LOOKS},
    {"stepOut", STEPS},
    {"terminate", ENDS},
    {"threads", LOOKS},
    {"variables", LOOKS | VALUES},
};

bool dap_command_is(const char *command, enum dap_command_kind kind)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (text_equal(command, commands[i].name))
            return (commands[i].kinds & kind) != 0;
    return false;
}
