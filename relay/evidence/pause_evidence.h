/* The tasks that are stopped in a debugger, as records of relay/why. Pure. */
#ifndef RAYDBG_RELAY_EVIDENCE_PAUSE_EVIDENCE_H
#define RAYDBG_RELAY_EVIDENCE_PAUSE_EVIDENCE_H

#include "relay/pause/pause.h"
#include "relay/why_records/why_records.h"

/* Adds those that a relay lists as stopped, with the relay and its clients as their holders;
 * without a relay (NULL), each is held by its driver. */
void pause_evidence_add(struct why_records *records, const struct pause_list *pauses,
                        const char *relay);
/* Adds the entries of Ray's legacy debugger, except those that the relay lists, too. */
void pause_evidence_add_pdbs(struct why_records *records, const struct ray_pdb *pdbs, size_t count);

#endif
