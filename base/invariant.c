#include "base/invariant.h"

#include <stdio.h>
#include <stdlib.h>

void invariant_broken(const char *file, int line, const char *function, const char *condition)
{
    fprintf(stderr,
            "raydbg: a fault of raydbg's own at %s:%d, in %s(): not %s\n"
            "raydbg: a relay's tasks stay held; please report this line\n",
            file, line, function, condition);
    abort();
}

void invariant_move(const char *what, const struct invariant_state *states, unsigned from,
                    unsigned to)
{
    if (states[from].next & INVARIANT_TO(to))
        return;
    fprintf(stderr, "raydbg: a fault of raydbg's own: a %s cannot go from %s to %s\n", what,
            states[from].name, states[to].name);
    abort();
}
