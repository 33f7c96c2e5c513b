/* The Python sources in this room, as the build packs them (cmake/worker-agent.cmake). */
#ifndef RAYDBG_RELAY_WORKER_AGENT_AGENT_SOURCES_H
#define RAYDBG_RELAY_WORKER_AGENT_AGENT_SOURCES_H

extern const char worker_agent_agent[];
extern const char worker_agent_run_hook[];
extern const char worker_agent_job_hook[];
extern const char worker_agent_site_hook[];

#endif
