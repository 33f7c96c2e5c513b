/* Looks into the first bytes of a TLS connection, which are not encrypted: which application
 * protocol (ALPN, RFC 7301) does the client name? Pure, incremental, no I/O. */
#ifndef RAYDBG_RELAY_PORT_CLIENT_HELLO_H
#define RAYDBG_RELAY_PORT_CLIENT_HELLO_H

#include <stddef.h>

/* The protocol that agents and pydevds name (relay/worker_agent/agent.py). Browsers and raydbg's
 * own clients name http/1.1, or nothing. */
#define CLIENT_HELLO_RAYDBG "raydbg"

enum client_hello {
    CLIENT_HELLO_PART,  /* more bytes are needed */
    CLIENT_HELLO_AGENT, /* the first protocol that it names is CLIENT_HELLO_RAYDBG */
    CLIENT_HELLO_OTHER, /* another, or none; or the bytes are no ClientHello */
};

/* `limit`: a longer ClientHello is CLIENT_HELLO_OTHER. One in several TLS records is, too. */
enum client_hello client_hello_read(const void *bytes, size_t len, size_t limit);

#endif
