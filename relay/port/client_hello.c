#include "relay/port/client_hello.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { RECORD_HEADER = 5, RECORD_HANDSHAKE = 0x16, MESSAGE_CLIENT_HELLO = 1, EXTENSION_ALPN = 16 };
enum { VERSION_AND_RANDOM = 2 + 32 };

/* Bytes that are still to be read. Once a read fails, all later ones do. */
struct reader {
    const uint8_t *at;
    size_t left;
    bool failed;
};

/* The next `len` bytes; none if there are fewer. */
static struct reader take(struct reader *reader, size_t len)
{
    struct reader taken = {reader->at, len, false};
    if (reader->failed || len > reader->left) {
        reader->failed = true;
        return (struct reader){NULL, 0, true};
    }
    reader->at += len;
    reader->left -= len;
    return taken;
}

/* A big-endian number of so many bytes. */
static size_t number(struct reader *reader, size_t size)
{
    struct reader bytes = take(reader, size);
    size_t value = 0;
    for (size_t i = 0; i < bytes.left; i++)
        value = value << 8 | bytes.at[i];
    return value;
}

/* A vector: its length in `size` bytes, then its bytes. */
static struct reader vector(struct reader *reader, size_t size)
{
    return take(reader, number(reader, size));
}

static bool names_raydbg(struct reader alpn)
{
    struct reader list = vector(&alpn, 2), name = vector(&list, 1);
    size_t len = sizeof CLIENT_HELLO_RAYDBG - 1;
    return !name.failed && name.left == len && memcmp(name.at, CLIENT_HELLO_RAYDBG, len) == 0;
}

/* `hello` is the whole handshake message. */
static bool is_agents(struct reader hello)
{
    if (number(&hello, 1) != MESSAGE_CLIENT_HELLO)
        return false;
    struct reader body = vector(&hello, 3);
    take(&body, VERSION_AND_RANDOM);
    vector(&body, 1); /* session id */
    vector(&body, 2); /* cipher suites */
    vector(&body, 1); /* compression methods */
    struct reader extensions = vector(&body, 2);
    while (!extensions.failed && extensions.left) {
        size_t type = number(&extensions, 2);
        struct reader extension = vector(&extensions, 2);
        if (type == EXTENSION_ALPN && !extension.failed)
            return names_raydbg(extension);
    }
    return false;
}

enum client_hello client_hello_read(const void *bytes, size_t len, size_t limit)
{
    const uint8_t *record = bytes;
    if (len && record[0] != RECORD_HANDSHAKE)
        return CLIENT_HELLO_OTHER;
    if (len < RECORD_HEADER)
        return CLIENT_HELLO_PART;
    size_t size = (size_t)record[3] << 8 | record[4];
    if (size + RECORD_HEADER > limit)
        return CLIENT_HELLO_OTHER;
    if (len < size + RECORD_HEADER)
        return CLIENT_HELLO_PART;
    return is_agents((struct reader){record + RECORD_HEADER, size, false}) ? CLIENT_HELLO_AGENT
                                                                           : CLIENT_HELLO_OTHER;
}
