import { readFileSync } from "node:fs";
import {
  AuthorizationError,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  NoRespondersError,
  nkeyAuthenticator,
  PermissionViolationError,
  RequestError,
  type Status,
} from "@nats-io/transport-node";
import type { NatsSettings } from "../../config/blocks/cluster-block.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Undo } from "../../kernel/scope.ts";

/** How long one attempt to connect may take, in milliseconds. */
const CONNECT_MS = 3_000;
/** Pause between two attempts, in milliseconds. */
const RETRY_MS = 250;
/** How long a starting engine waits for a server, in milliseconds: after a power cut servers and engines start together. */
const START_WAIT_MS = 20_000;
/** A server that answers no ping for this long counts as lost, in milliseconds. */
const PING_MS = 2_000;

/** A connection that moves from server to server by itself. */
export interface NatsClient {
  readonly nats: NatsConnection;
  /** False while there is no server. What is published then would wait in memory without a bound. */
  isUp(): boolean;
  /** Since when there is no server, on the monotonic clock of the process; undefined while there is one. */
  downSince(): number | undefined;
  /** Calls the listener each time that there is a server again. */
  onUp(listener: () => void): Undo;
  close(): Promise<void>;
}

/** The servers refuse or cannot be used. The message says what to do. */
export class NatsProblem extends Error {
  override readonly name = "NatsProblem";
}

/** Returns the problem if the servers do not let the engine do something, or undefined for another error. */
export function permissionProblem(error: unknown, cluster: string): NatsProblem | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof PermissionViolationError)
      return new NatsProblem(
        `the NATS servers do not permit what an engine of the cluster ${cluster} needs (${each.message}): engine.cluster.name must be the name that their file was made for, and \`svc cluster nats-config\` prints the permissions`,
      );
  return undefined;
}

/** Whether the servers know that nobody listens. */
export function isUnheard(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof NoRespondersError || (each instanceof RequestError && each.isNoResponders())) return true;
  return false;
}

export interface ConnectParts {
  readonly settings: NatsSettings;
  /** Name of the cluster. */
  readonly cluster: string;
  /** Name of the node, shown by the servers. */
  readonly node: string;
  readonly logger: Logger;
  /** Default 20,000 ms. */
  readonly startWaitMs?: number;
}

/** Connects to one of the servers. Rejects with NatsProblem. */
export async function connectNats(parts: ConnectParts): Promise<NatsClient> {
  const { settings, logger, startWaitMs = START_WAIT_MS } = parts;
  const options = optionsOf(parts);
  const givenUpAt = performance.now() + startWaitMs;
  let isReported = false;
  for (;;) {
    try {
      return follow(await connect(options), logger);
    } catch (error) {
      const problem = problemOf(error as Error, settings);
      if (problem.isFinal || performance.now() >= givenUpAt) throw new NatsProblem(problem.message);
      if (!isReported)
        logger.warn("no NATS server answers yet", { servers: settings.servers, problem: problem.message });
      isReported = true;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

function optionsOf({ settings, cluster, node }: ConnectParts): ConnectionOptions {
  const { servers, nkeySeed, credentials, user, password, token, tls } = settings;
  return {
    servers: [...servers],
    name: `svc ${cluster} ${node}`,
    // Within what a node may use, so that one permission suffices.
    inboxPrefix: `svc.${cluster}.inbox`,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRY_MS,
    reconnectJitter: 100,
    reconnectJitterTLS: 100,
    // Another server may know the credentials.
    ignoreAuthErrorAbort: true,
    ...(nkeySeed === undefined ? {} : { authenticator: nkeyAuthenticator(new TextEncoder().encode(nkeySeed)) }),
    ...(credentials === undefined ? {} : { authenticator: credsAuthenticator(readPem("credentials", credentials)) }),
    ...(user === undefined ? {} : { user, pass: password ?? "" }),
    ...(token === undefined ? {} : { token }),
    ...(tls === undefined
      ? {}
      : {
          tls: {
            ...(tls.ca === undefined ? {} : { ca: readPem("tls.ca", tls.ca).toString() }),
            ...(tls.cert === undefined ? {} : { cert: readPem("tls.cert", tls.cert).toString() }),
            ...(tls.key === undefined ? {} : { key: readPem("tls.key", tls.key).toString() }),
          },
        }),
  };
}

function readPem(key: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new NatsProblem(
      `engine.cluster.nats.${key} names ${file}, which cannot be read: ${(error as Error).message}`,
    );
  }
}

/** Returns what is wrong, for people, and whether trying again is of no use. */
function problemOf(error: Error, { servers }: NatsSettings): { readonly message: string; readonly isFinal: boolean } {
  const at = servers.join(", ");
  if (error instanceof NatsProblem) return { message: error.message, isFinal: true };
  if (isRefusal(error))
    return {
      message: `the NATS server at ${at} refuses the credentials: check nkey_seed, credentials, user or token in engine.cluster.nats, and the users in the server's file (${error.message})`,
      isFinal: true,
    };
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  const text = `${error.message}${cause}`;
  if (/certificate|self-signed|tls|ssl/i.test(text))
    return {
      message: `the TLS connection to the NATS server at ${at} failed: check engine.cluster.nats.tls and the server's certificate (${text})`,
      isFinal: true,
    };
  if (/parser error|INFO|protocol|bad url|invalid/i.test(error.message))
    return { message: `what listens at ${at} is no NATS server, or the address is wrong (${text})`, isFinal: true };
  return {
    message: `no NATS server can be reached at ${at} (${text}); start one (\`svc cluster nats-config\` prints its file), or correct engine.cluster.nats.servers`,
    isFinal: false,
  };
}

function isRefusal(error: Error): boolean {
  return error instanceof AuthorizationError || /authorization violation|authentication/i.test(error.message);
}

function follow(nats: NatsConnection, logger: Logger): NatsClient {
  const listeners = new Set<() => void>();
  let downSince: number | undefined;
  const note = (status: Status): void => {
    if (status.type === "disconnect") {
      downSince ??= performance.now();
      logger.warn("the connection to a NATS server was lost", { server: status.server });
    } else if (status.type === "reconnect") {
      downSince = undefined;
      logger.info("connected to a NATS server again", { server: status.server });
      for (const listener of listeners) listener();
    } else if (status.type === "error") {
      logger.error("a NATS server reports an error", { error: status.error });
    }
  };
  void (async () => {
    for await (const status of nats.status()) note(status);
  })();
  return {
    nats,
    isUp: () => downSince === undefined && !nats.isClosed(),
    downSince: () => downSince,
    onUp(listener) {
      const own = (): void => listener();
      listeners.add(own);
      return () => listeners.delete(own);
    },
    async close() {
      // What was published last must leave, but a server that does not answer must not hold the engine up.
      const flushed = nats.flush().catch(() => undefined);
      await Promise.race([flushed, new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
      await nats.close();
    },
  };
}
