/** What `raydbg sessions --format json` says: the clients of a relay. Pure. */
import {age} from '../pauses/pause';

export interface Session {
  id: number;
  role: 'driver' | 'observer' | null;
  client: string | null;
  peer: string | null;
  /** The key of its pause. */
  pause: string | null;
  task_name: string | null;
  /** Seconds since 1970. */
  since: number;
}

export function parseSessions(text: string): Session[] {
  const value: unknown = JSON.parse(text);
  return Array.isArray(value) ? (value as Session[]) : [];
}

export function sessionDescription(session: Session, now: number): string {
  const since = age(session.since, now);
  return [session.role ?? 'not attached', session.client, session.peer, since].filter(Boolean).join(' · ');
}

/** The body of the event raydbg/role. */
export interface Role {
  role: 'driver' | 'observer';
  driver: string | null;
}
