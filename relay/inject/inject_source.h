/* The Python statements of each injection (relay/inject/inject.h), each with a comment that gives
 * the reason. Private to relay/inject/inject. Each runs in its own namespace, whose __name__ is
 * "raydbg". Those of relay/inject/injections are compiled in by cmake/injections.cmake. */
#ifndef RAYDBG_RELAY_INJECT_INJECT_SOURCE_H
#define RAYDBG_RELAY_INJECT_INJECT_SOURCE_H

extern const char inject_nodelay[];
extern const char inject_wake[];
extern const char inject_all_stop[];
extern const char inject_guard[];
extern const char inject_conditions[];
extern const char inject_files[];
extern const char inject_looks[];
extern const char inject_frameless[];
extern const char inject_sources[];
extern const char inject_output[];
extern const char inject_forks[];
extern const char inject_leaving[];
extern const char inject_snapshots[];
extern const char inject_stepped_off[];
extern const char inject_limit[];
extern const char inject_interrupt[];
extern const char inject_breakpoint_hook[];
extern const char inject_get_hook[];
extern const char inject_postmortem[];
extern const char inject_keepalive[];
extern const char inject_no_sub_process[];
extern const char inject_sub_process[];

#endif
