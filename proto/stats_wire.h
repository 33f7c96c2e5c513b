/* Tells the two numberings of Ray's CoreWorkerStats apart. Pure. */
#ifndef RAYDBG_PROTO_STATS_WIRE_H
#define RAYDBG_PROTO_STATS_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum stats_numbering {
    STATS_UNKNOWN, /* malformed, contradictory, or no field that tells */
    STATS_V1,      /* Ray <= 2.49 */
    STATS_V2,      /* Ray >= 2.50 */
};

/* Reads only field numbers and wire types of an encoded CoreWorkerStats. */
enum stats_numbering stats_numbering_of(const uint8_t *bytes, size_t len);

#endif
