/** What the hosts have, asked now and all at once. */
import type { HostHealth, HostPool } from "./host_pool.ts";
import type { HostReport } from "./port.ts";

/** One report for each host, in the operator's order. */
export async function reportHosts(pool: HostPool, signal: AbortSignal): Promise<readonly HostReport[]> {
  const hosts = await pool.check(signal);
  return await Promise.all(hosts.map((host) => reportHost(host, signal)));
}

async function reportHost({ client, version }: HostHealth, signal: AbortSignal): Promise<HostReport> {
  const { origin } = client.host;
  if (!version.ok) return { origin, failure: version.error, installed: [], loaded: [] };
  const [installed, loaded] = await Promise.all([client.tags(signal), client.ps(signal)]);
  if (!installed.ok) return { origin, version: version.value, failure: installed.error, installed: [], loaded: [] };
  return { origin, version: version.value, installed: installed.value, loaded: loaded.ok ? loaded.value : [] };
}
