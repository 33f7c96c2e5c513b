/** What users write as addresses. Pure. */

export interface ClusterSetting {
  name: string;
  address?: string;
  relay?: string;
  fingerprint?: string;
  ca?: string;
}

/** A relay's address is one with https:// or unix:, or one that says so. */
export function clusterSetting(name: string, where: string): ClusterSetting {
  const relay = /^relay\s+/.exec(where);
  const address = relay ? where.slice(relay[0].length) : where;
  return relay || /^(https:\/\/|unix:)/.test(address) ? {name, relay: address} : {name, address};
}

/** Host and port of a relay with TLS; undefined for any other. */
export function relayEndpoint(address: string): {host: string; port: number} | undefined {
  const found = /^https:\/\/(\[[^\]]+\]|[^:/]+)(?::(\d+))?\/?$/.exec(address);
  if (!found?.[1]) return undefined;
  return {host: found[1].replace(/^\[|\]$/g, ''), port: Number(found[2] ?? 4713)};
}
