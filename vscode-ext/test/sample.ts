import {Pause} from '../src/pauses/pause';

/** A pause as `raydbg list --format json` prints one. */
export function pause(facts: Partial<Pause> = {}): Pause {
  return {
    task_id: 'c2668a65bf79e7a5ffffffffffffffffffffffff01000000', task_name: 'square', actor_id: null, actor_class: null, actor_name: null,
    job_id: '01000000', node_id: 'aa', node_ip: '10.0.0.7', pid: 5935, worker_id: 'w1', debugger: 'debugpy', endpoint: '10.0.0.7:35589',
    state: 'waiting', paused_threads: 1, ambiguous: false, candidates: [], location: null, since: 1767225600.25, since_source: 'task_start',
    reason: null, clients: null, driver: null, held_since: null, ...facts,
  };
}
