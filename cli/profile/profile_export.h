/* A profile in formats that other programs open. Pure. */
#ifndef RAYDBG_CLI_PROFILE_PROFILE_EXPORT_H
#define RAYDBG_CLI_PROFILE_PROFILE_EXPORT_H

#include "relay/python_stack/cpu_profile.h"

/* Folded stacks, as flamegraph.pl reads them. */
void profile_export_folded(const struct cpu_profile *profile, struct buf *out);
/* JSON of https://www.speedscope.app/file-format-schema.json: one profile, in which a stack has its
 * samples as its weight. */
void profile_export_speedscope(const struct cpu_profile *profile, const char *title,
                               struct buf *out);
/* A flame graph, its root on top, without scripts. What is narrower than a quarter of a pixel is
 * left out. */
void profile_export_svg(const struct cpu_profile *profile, const char *title, struct buf *out);

#endif
