import {
  type JetStreamManager,
  jetstreamManager,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from "@nats-io/jetstream";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import { type NatsClient, NatsProblem, permissionProblem } from "./connect.ts";
import { codeOf, codes } from "./jetstream-errors.ts";

/**
 * Maximum duration of a stream's creation, in milliseconds. It is long because servers that have just started must
 * first elect a leader.
 */
const CREATE_MS = 20_000;
/**
 * Timeout of one request to the servers, in milliseconds. It is short because two engines may create the same stream at
 * the same time. One of them then gets no answer, and its next attempt finds the stream.
 */
const ATTEMPT_MS = 500;
const RETRY_MS = 250;

export interface StreamParts {
  readonly client: NatsClient;
  /** Name of the cluster. */
  readonly cluster: string;
  /** Name of the store whose log or snapshots the stream contains, e.g. `queue`. */
  readonly store: string;
  /** Number of servers that should keep a copy of the stream. */
  readonly replicas: number;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/**
 * Resolves with the stream of this name. Creates it if it is missing. If it has fewer copies than `replicas`, tries to
 * add copies, but resolves also if that fails. Rejects with NatsProblem.
 */
export async function ensureStream(
  name: string,
  parts: StreamParts,
  configOf: () => Partial<StreamConfig>,
): Promise<StreamInfo> {
  const { client, cluster, replicas, logger, clock = systemClock } = parts;
  const manager = await jetstreamManager(client.nats, { timeout: ATTEMPT_MS, checkAPI: false });
  const endsAt = clock.monotonic() + CREATE_MS;
  for (;;) {
    try {
      const found = await manager.streams.info(name);
      return found.config.num_replicas < replicas ? await addReplicas(manager, found, parts) : found;
    } catch (error) {
      try {
        if (codeOf(error) !== codes.streamNotFound) throw error;
        return await manager.streams.add({
          ...configOf(),
          name,
          num_replicas: replicas,
          storage: StorageType.File,
        } as Parameters<typeof manager.streams.add>[0]);
      } catch (failure) {
        // Another node is creating the stream at the same time.
        if (codeOf(failure) === codes.streamExists) continue;
        const problem = permissionProblem(failure, cluster);
        if (problem !== undefined) throw problem;
        if (clock.monotonic() >= endsAt)
          throw new NatsProblem(
            `the NATS servers do not provide the stream ${name} with ${replicas} copies: ${(failure as Error).message}; all servers of engine.cluster.nats.servers must run when a cluster starts for the first time`,
          );
        logger.debug("a stream is not available yet", { stream: name, error: failure });
        await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve));
      }
    }
  }
}

/**
 * Raises the number of copies of a stream, e.g. after one server was extended to three. Resolves with the updated
 * stream, or with `found` if the update fails.
 */
async function addReplicas(manager: JetStreamManager, found: StreamInfo, parts: StreamParts): Promise<StreamInfo> {
  const { replicas, logger } = parts;
  const { name: stream, num_replicas: copies } = found.config;
  try {
    const updated = await manager.streams.update(stream, { num_replicas: replicas });
    logger.info("a log is copied to further NATS servers", { stream, replicas });
    return updated;
  } catch (error) {
    logger.warn("a log has fewer copies than there are NATS servers", { stream, copies, wanted: replicas, error });
    return found;
  }
}
