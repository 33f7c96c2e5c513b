#include "proto/wire.h"

#include <string.h>

enum { MAX_NUMBER_BITS = 29 };

struct wire wire_of(const uint8_t *bytes, size_t len)
{
    struct wire wire = {bytes, bytes, false};
    if (len)
        wire.end = bytes + len;
    return wire;
}

static bool read_varint(struct wire *wire, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
        uint8_t byte = *wire->at++;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool take(struct wire *wire, uint64_t len, struct wire_field *out)
{
    if (len > (uint64_t)(wire->end - wire->at))
        return false;
    out->bytes = wire->at;
    out->len = (size_t)len;
    wire->at += len;
    return true;
}

static bool read_value(struct wire *wire, struct wire_field *out)
{
    uint64_t len;
    switch (out->tag & 7) {
    case WIRE_VARINT:
        return read_varint(wire, &out->value);
    case WIRE_FIXED64:
        return take(wire, 8, out);
    case WIRE_FIXED32:
        return take(wire, 4, out);
    case WIRE_LENGTH:
        return read_varint(wire, &len) && take(wire, len, out);
    default:
        return false; /* groups are not in proto3 */
    }
}

bool wire_next(struct wire *wire, struct wire_field *out)
{
    uint64_t tag;
    *out = (struct wire_field){0};
    if (wire->malformed || wire->at == wire->end)
        return false;
    wire->malformed = true;
    if (!read_varint(wire, &tag) || tag >> 3 == 0 || tag >> (3 + MAX_NUMBER_BITS))
        return false;
    out->tag = (uint32_t)tag;
    wire->malformed = !read_value(wire, out);
    return !wire->malformed;
}

double wire_double(const struct wire_field *field)
{
    uint64_t bits = 0;
    double value;
    for (unsigned i = 0; i < 8 && i < field->len; i++)
        bits |= (uint64_t)field->bytes[i] << (8 * i);
    memcpy(&value, &bits, sizeof value);
    return value;
}

int64_t wire_signed(const struct wire_field *field)
{
    int64_t value;
    memcpy(&value, &field->value, sizeof value);
    return value;
}
