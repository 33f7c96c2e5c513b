/* The first bytes of a TLS connection: each part of them asks for more or gives what the whole
 * gives, and none is an agent's that does not have the name in it. */
#include "fuzz.h"

#include "relay/port/client_hello.h"

enum { LIMIT = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char name[] = CLIENT_HELLO_RAYDBG;
    enum client_hello whole = client_hello_read(data, size, LIMIT);
    check(whole != CLIENT_HELLO_AGENT || memmem(data, size, name, sizeof name - 1));
    for (size_t len = 0; len < size && len < LIMIT; len++) {
        enum client_hello part = client_hello_read(data, len, LIMIT);
        check(part == CLIENT_HELLO_PART || part == whole);
    }
    return 0;
}
