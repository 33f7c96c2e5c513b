#include "base/invariant.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) _Noreturn static void end_process(
    struct invariant_location location, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "raydbg: a fault of raydbg's own at %s:%d, in %s(): ", location.file,
            location.line, location.function);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("\nraydbg: a relay's tasks stay held; please report this line\n", stderr);
    abort();
}

void invariant_broken(struct invariant_location location, const char *condition)
{
    end_process(location, "not %s", condition);
}

#ifdef RAYDBG_TESTING
/* For tests: $RAYDBG_TEST_BREAK is "hub to lost", and a hub that moves to `lost` is taken to be in
 * that state already, as one that had been left in a wrong state would be. */
static bool is_planted(const char *machine, const char *to)
{
    const char *planted = getenv("RAYDBG_TEST_BREAK");
    size_t len = strlen(machine);
    return planted && strncmp(planted, machine, len) == 0 &&
           strncmp(planted + len, " to ", 4) == 0 && strcmp(planted + len + 4, to) == 0;
}
#else
static bool is_planted(const char *machine, const char *to)
{
    (void)machine, (void)to;
    return false;
}
#endif

void invariant_move(struct invariant_location location, const char *machine,
                    const struct invariant_state *states, unsigned from, unsigned to)
{
    if (is_planted(machine, states[to].name))
        from = to;
    if (!(states[from].next & INVARIANT_TO(to)))
        end_process(location, "the %s cannot go from %s to %s", machine, states[from].name,
                    states[to].name);
}

void invariant_bad_magic(struct invariant_location location, const char *name,
                         const uint32_t *found, uint32_t expected)
{
    if (!found)
        end_process(location, "NULL is no %s", name);
    end_process(location, "this is no %s%s: its number is 0x%08x, not 0x%08x", name,
                *found ? "" : ", or one that was freed", *found, expected);
}
