import type { NatsConnection } from "@nats-io/transport-node";
import { MAX_NODE_MESSAGE_BYTES } from "@svc-runtime/protocol/nodes";
import { NatsProblem, permissionProblem } from "./connect.ts";
import { isOlder, MIN_SERVER_VERSION } from "./server-version.ts";

/**
 * Minimum `max_payload` of a server, in bytes. A server returns an entry of the log as base64 in JSON, which is longer.
 */
const MIN_MAX_PAYLOAD = Math.ceil((MAX_NODE_MESSAGE_BYTES * 4) / 3) + 64 * 1024;
/** How long to wait for the answers of the servers, in milliseconds. */
const ANSWER_MS = 500;
/** JETSTREAM_MS: timeout of one request to JetStream, in milliseconds. LEADER_MS: maximum time without a leader. */
const JETSTREAM_MS = 1_000;
const LEADER_MS = 20_000;

/** Whether acknowledged writes survive if all servers lose power at once. */
export interface LogDurability {
  readonly durability: "durable" | "relaxed";
  /** Reason why the durability is relaxed, and what to do. */
  readonly reason?: string;
  /** Number of servers of the cluster. It may be too low if some servers do not answer. */
  readonly servers: number;
}

/** Rejects with NatsProblem if the server is too old, lacks JetStream or accepts only small messages. */
export async function checkServer(nats: NatsConnection, cluster: string): Promise<void> {
  const { info } = nats;
  const at = nats.getServer();
  if (info === undefined) throw new NatsProblem(`the NATS server at ${at} sent no description of itself`);
  if (isOlder(info.version, MIN_SERVER_VERSION))
    throw new NatsProblem(
      `the NATS server at ${at} is version ${info.version}, which loses streams when it is killed: use ${MIN_SERVER_VERSION} or later (https://github.com/nats-io/nats-server/releases)`,
    );
  if (info.jetstream !== true)
    throw new NatsProblem(
      `the NATS server at ${at} has no JetStream: add a \`jetstream\` block to its file (\`svc cluster nats-config\` prints one) and restart it`,
    );
  if (info.max_payload < MIN_MAX_PAYLOAD)
    throw new NatsProblem(
      `the NATS server at ${at} accepts messages of ${info.max_payload} bytes only: set max_payload to 1MB in its file`,
    );
  await checkJetStream(nats, at, cluster);
}

async function checkJetStream(nats: NatsConnection, at: string, cluster: string): Promise<void> {
  const endsAt = performance.now() + LEADER_MS;
  for (;;) {
    try {
      const answer = await nats.request("$JS.API.INFO", undefined, { timeout: JETSTREAM_MS });
      const { error } = answer.json<{ readonly error?: { readonly description: string } }>();
      if (error === undefined) return;
      throw new NatsProblem(`JetStream of the NATS server at ${at} refuses this account: ${error.description}`);
    } catch (error) {
      if (error instanceof NatsProblem) throw error;
      const problem = permissionProblem(error, cluster);
      if (problem !== undefined) throw problem;
      if (performance.now() >= endsAt)
        throw new NatsProblem(
          `JetStream of the NATS server at ${at} does not answer (${(error as Error).message}): a majority of the servers of its cluster must run, and JetStream must be enabled for its account`,
        );
    }
  }
}

interface ServerReport {
  readonly server?: { readonly name?: string };
  readonly data?: {
    readonly config?: { readonly sync_interval?: number; readonly sync_always?: boolean };
    readonly meta_cluster?: { readonly cluster_size?: number };
  };
}

/**
 * Asks all servers whether they sync writes before they acknowledge them. Servers answer only if the account of the
 * engine imports a service of the system account, as in the file of `svc cluster nats-config`. A server that does not
 * answer counts as one that does not sync. Never rejects.
 */
export async function durabilityOf(nats: NatsConnection, cluster: string): Promise<LogDurability> {
  const reports: ServerReport[] = [];
  try {
    const answers = await nats.requestMany(`svc.${cluster}.servers`, undefined, {
      strategy: "timer",
      maxWait: ANSWER_MS,
      maxMessages: 64,
    });
    for await (const answer of answers) if (answer.data.length > 0) reports.push(answer.json<ServerReport>());
  } catch {
    // Ignored: no server answers, so the list of reports is empty.
  }
  return durabilityIn(reports, nats.info?.connect_urls ?? []);
}

/**
 * Derives the durability from the answers of the servers. `urls` are the addresses that the servers announce. There may
 * be more addresses than servers, because a server that listens on all addresses of its machine announces each address.
 */
export function durabilityIn(reports: readonly ServerReport[], urls: readonly string[]): LogDurability {
  const sizes = reports.map(({ data }) => Number(data?.meta_cluster?.cluster_size ?? 1));
  const servers = reports.length === 0 ? Math.max(1, urls.length) : Math.max(reports.length, ...sizes);
  const relaxed = (reason: string): LogDurability => ({ durability: "relaxed", reason, servers });
  if (reports.length === 0)
    return relaxed(
      "the NATS servers do not tell whether they sync each write to disk; with a file as `svc cluster nats-config` prints it they do",
    );
  const unsynced = reports.filter(({ data }) => data?.config?.sync_always !== true);
  const names = unsynced.map(({ server }) => server?.name ?? "?").join(", ");
  if (unsynced.length > 0)
    return relaxed(
      `the NATS servers ${names} acknowledge writes before they are on disk; set sync_interval: always in their jetstream block`,
    );
  if (reports.length < servers)
    return relaxed(
      `only ${reports.length} of ${servers} NATS servers tell whether they sync each write to disk; start the others, with a file as \`svc cluster nats-config\` prints it`,
    );
  return { durability: "durable", servers };
}
