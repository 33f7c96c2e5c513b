/* Walks over the fields of one encoded protobuf message, without copying. Pure. */
#ifndef RAYDBG_PROTO_WIRE_H
#define RAYDBG_PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

/* A field's number and wire type in one integer, as they are encoded. A decoder switches over it,
 * so that a known number with another type is an unknown field. */
#define WIRE_TAG(number, type) ((uint32_t)((number) << 3 | (type)))

struct wire {
    const uint8_t *at, *end;
    bool malformed;
};

struct wire_field {
    uint32_t tag;
    uint64_t value;       /* of a VARINT */
    const uint8_t *bytes; /* of all others: within the message */
    size_t len;
};

struct wire wire_of(const uint8_t *bytes, size_t len);
/* Reads the next field. False at the end, and at malformed bytes, where the walk also ends. */
bool wire_next(struct wire *wire, struct wire_field *out);

/* The value of a FIXED64. */
double wire_double(const struct wire_field *field);
/* The value of a signed VARINT. */
int64_t wire_signed(const struct wire_field *field);

#endif
