/* The TLS terminator's process (tls_terminator.h). Its parent sends it pairs of descriptors, a
 * connection that is to speak TLS and a plain one, each pair in a packet of one byte. It passes
 * bytes between the two until either ends, and exits when the parent is gone and no pair is left.
 * It never waits for one pair alone, and holds at most 16 KiB of each direction of one. */
#ifndef RAYDBG_RELAY_PORT_TLS_TERMINATOR_PROCESS_H
#define RAYDBG_RELAY_PORT_TLS_TERMINATOR_PROCESS_H

/* Starts it (by daemon_spawn(): the caller may have threads). `socket` and `memory`, of
 * tls_context_save(), stay the caller's; `cert` is absolute, ps shows "raydbg-tls CERT". 0, or -1
 * with errno set. */
int tls_terminator_process_start(int socket, int memory, const char *cert);
/* For main(), before anything else: see daemon_resume(). */
void tls_terminator_process_resume(int argc, char **argv);

#endif
