/* The form of an HTTP request's header. libwebsockets (4.1) waits for ever for the end of one with
 * a folded line, a line without a colon, or an unknown header without a value. Pure. */
#ifndef RAYDBG_RELAY_PORT_REQUEST_HEADER_H
#define RAYDBG_RELAY_PORT_REQUEST_HEADER_H

#include <stdbool.h>
#include <stddef.h>

/* The length of a header with its empty line; 0 if that has not come. Lines may end without CR. */
size_t request_header_length(const char *bytes, size_t len);

/* True if each line after the first is "NAME: VALUE": a name of RFC 9110's token characters, and a
 * value that is not empty and has no control characters except tabs. Only an Origin may be empty
 * (http_access.c refuses it). */
bool request_header_is_sound(const char *bytes, size_t len);

#endif
