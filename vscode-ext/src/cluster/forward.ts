/** What brings a relay's port here: `ssh -L` and `kubectl port-forward`. Pure. */

/** A task of type raydbg in tasks.json. */
export interface Forward {
  forward: 'ssh' | 'kubectl';
  /** What ssh takes as a destination; for kubectl "pod/NAME" or "svc/NAME", with options if need be. */
  target: string;
  /** The port here, and the relay's there. */
  port?: number;
  relayPort?: number;
}

export const defaultPort = 4713;

/** The command's words. What the user wrote as target is cut at blanks, and is no shell's. */
export function forwardCommand({forward, target, port = defaultPort, relayPort = defaultPort}: Forward): string[] {
  const words = target.split(/\s+/).filter(Boolean);
  if (forward === 'kubectl') return ['kubectl', 'port-forward', '--address', '127.0.0.1', ...words, `${port}:${relayPort}`];
  return ['ssh', '-N', '-o', 'ExitOnForwardFailure=yes', '-o', 'ServerAliveInterval=15', '-L', `127.0.0.1:${port}:127.0.0.1:${relayPort}`, ...words];
}

/** Undefined if it is none, or lacks something. */
export function parseForward(definition: Record<string, unknown>): Forward | undefined {
  const {forward, target} = definition;
  const port = (value: unknown): number | undefined => (typeof value === 'number' && value > 0 && value < 65536 ? value : undefined);
  if ((forward !== 'ssh' && forward !== 'kubectl') || typeof target !== 'string' || !target.trim()) return undefined;
  return {forward, target: target.trim(), port: port(definition['port']) ?? defaultPort, relayPort: port(definition['relayPort']) ?? defaultPort};
}
