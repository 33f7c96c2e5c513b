/* Parts of Ray's messages about failures that several decoders share. Pure. */
#ifndef RAYDBG_PROTO_FAILURE_WIRE_H
#define RAYDBG_PROTO_FAILURE_WIRE_H

#include "gcs.pb-c.h"
#include "proto/failure_records.h"

void failure_wire_death(struct ray_actor_death *out, const RayWire__ActorDeathCause *in);
void failure_wire_resources(struct ray_resources *out, RayWire__ResourceAmount *const *in,
                            size_t count);
/* True for a runtime_env whose packages are installed by a command on the node. */
bool failure_wire_installs(const char *serialized);
void failure_wire_labels(struct ray_labels *out, RayWire__LabelEntry *const *in, size_t count);

#endif
