/* A profile as a table of its hottest functions, and as JSON. Pure. */
#ifndef RAYDBG_CLI_PROFILE_PROFILE_TEXT_H
#define RAYDBG_CLI_PROFILE_PROFILE_TEXT_H

#include "relay/python_stack/cpu_profile.h"

struct profile_text_style {
    bool colour, utf8;
    int columns; /* of the table */
};

/* How many functions a table has. */
enum { PROFILE_TEXT_ROWS = 20 };

void profile_text_table(const struct cpu_profile *profile, const struct profile_text_style *style,
                        struct buf *out);
/* An object; docs/profile.md has its schema. */
void profile_text_json(const struct cpu_profile *profile, uint32_t seconds, struct buf *out);

#endif
