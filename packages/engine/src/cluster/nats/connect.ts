import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
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
  UserAuthenticationExpiredError,
} from "@nats-io/transport-node";
import type { NatsSettings } from "../../config/blocks/cluster-block.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Undo } from "../../kernel/scope.ts";
import { SILENT_MS, Silence } from "./silence.ts";

/** Timeout of one attempt to connect, in milliseconds. */
const CONNECT_MS = 3_000;
/** Pause between two attempts, in milliseconds. */
const RETRY_MS = 250;
/**
 * How long a starting engine waits for a server, in milliseconds. After a power cut servers and engines start together.
 */
const START_WAIT_MS = 20_000;
/** Interval of pings, in milliseconds. A server that leaves two pings unanswered counts as lost. */
const PING_MS = 2_000;

/** Error codes of OpenSSL and of the verification of certificates. */
const TLS =
  /^(?:EPROTO|ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_|INVALID_|HOSTNAME_MISMATCH|PATH_LENGTH_)/;
/** Messages of the client about a server without TLS. */
const TLS_MESSAGES = ["server does not support 'tls'", "'tls' is not available on this server"];
/** Message of the client if something other than a NATS server answers. */
const NO_NATS_MESSAGE = "unexpected response from server";

/** A connection that moves to another server by itself when it loses its server. */
export interface NatsClient {
  readonly nats: NatsConnection;
  /**
   * False while there is no server. Nothing must be published then, because it would wait in memory without a limit.
   */
  isUp(): boolean;
  /**
   * How long there has been no server, or nothing has been received from it, in milliseconds; 0 while the server works.
   */
  downForMs(): number;
  /** Calls the listener each time a server can be reached again. */
  onUp(listener: () => void): Undo;
  close(): Promise<void>;
}

/** Thrown if the servers refuse the engine or cannot be used. The message says what to do. */
export class NatsProblem extends Error {
  override readonly name = "NatsProblem";
}

/** Returns the problem if the servers deny the engine a permission. Returns undefined for other errors. */
export function permissionProblem(error: unknown, cluster: string): NatsProblem | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof PermissionViolationError)
      return new NatsProblem(
        `the NATS servers do not permit what an engine of the cluster ${cluster} needs (${each.message}): engine.cluster.name must be the name that their file was made for, and \`svc cluster nats-config\` prints the permissions`,
      );
  return undefined;
}

/** True if the servers report that nobody listens to the subject. */
export function isUnheard(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof NoRespondersError || (each instanceof RequestError && each.isNoResponders())) return true;
  return false;
}

export interface ConnectParts {
  readonly settings: NatsSettings;
  /** Name of the svc cluster. */
  readonly cluster: string;
  /** Name of the node. The servers show it. */
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
  // Use a random order, so that not all engines use the first server.
  const servers = shuffled(settings.servers);
  let isReported = false;
  let finalProblems = 0;
  for (let round = 0; ; round++) {
    try {
      // The client tries all servers, but throws only the problem of the last one. So each attempt ends with another
      // server.
      const at = round % servers.length;
      const inTurn = [...servers.slice(at), ...servers.slice(0, at)];
      return follow(await connect({ ...options, servers: inTurn, noRandomize: true }), logger);
    } catch (error) {
      const problem = problemOf(error as Error, settings);
      finalProblems = problem.isFinal ? finalProblems + 1 : 0;
      if (finalProblems >= servers.length || performance.now() >= givenUpAt) throw new NatsProblem(problem.message);
      if (!isReported)
        logger.warn("no NATS server answers yet", { servers: settings.servers, problem: problem.message });
      isReported = true;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

function shuffled(servers: readonly string[]): readonly string[] {
  return servers
    .map((server) => ({ server, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ server }) => server);
}

function optionsOf({ settings, cluster, node }: ConnectParts): ConnectionOptions {
  const { nkeySeed, credentials, user, password, token, tls } = settings;
  return {
    name: `svc ${cluster} ${node}`,
    // Below the subjects of the cluster, so that an engine needs only one permission.
    inboxPrefix: `svc.${cluster}.inbox`,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRY_MS,
    reconnectJitter: 100,
    reconnectJitterTLS: 100,
    // Another server may accept the credentials.
    ignoreAuthErrorAbort: true,
    // Without TLS, all configured servers are on this machine. A server that the servers announce may be on another
    // machine.
    ignoreClusterUpdates: tls === undefined,
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
            // The client passes on all options to Node.js, but its type has only the usual ones.
            ...{ checkServerIdentity: checkNameOrAddress },
          },
        }),
  };
}

/**
 * Verifies that a certificate is the server's. The NATS client gives Node.js no name for a server whose address is an IP
 * address, and Node.js then expects a certificate for `localhost`. Node.js calls this as a method of the TLS options.
 */
function checkNameOrAddress(
  this: { readonly servername?: string; readonly socket?: Socket } | undefined,
  name: string,
  certificate: PeerCertificate,
): Error | undefined {
  if (this?.servername) return checkServerIdentity(name, certificate);
  const address = this?.socket?.remoteAddress;
  return address === undefined ? new Error("the connection was closed") : checkServerIdentity(address, certificate);
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

interface ConnectFailure {
  readonly message: string;
  readonly isFinal: boolean;
}

/** Returns the message for the user, and whether further attempts are useless. */
export function problemOf(error: Error, { servers }: Pick<NatsSettings, "servers">): ConnectFailure {
  const at = servers.join(", ");
  if (error instanceof NatsProblem) return { message: error.message, isFinal: true };
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  const text = `${error.message}${cause}`;
  const codes = codesOf(error);
  if (error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError)
    return {
      message: `the NATS server at ${at} refuses the credentials: check nkey_seed, credentials, user or token in engine.cluster.nats, and the users in the server's file (${error.message})`,
      isFinal: true,
    };
  if (codes.some((code) => TLS.test(code)) || TLS_MESSAGES.includes(error.message))
    return {
      message: `the TLS connection to the NATS server at ${at} failed: check engine.cluster.nats.tls and the server's certificate (${text})`,
      isFinal: true,
    };
  if (error instanceof SyntaxError || codes.includes("ERR_INVALID_URL") || error.message === NO_NATS_MESSAGE)
    return { message: `what listens at ${at} is no NATS server, or the address is wrong (${text})`, isFinal: true };
  return {
    message: `no NATS server can be reached at ${at} (${text}); start one (\`svc cluster nats-config\` prints its file), or correct engine.cluster.nats.servers`,
    isFinal: false,
  };
}

function codesOf(error: Error): readonly string[] {
  const codes: string[] = [];
  for (let each: unknown = error; each instanceof Error; each = each.cause)
    if ("code" in each && typeof each.code === "string") codes.push(each.code);
  return codes;
}

function follow(nats: NatsConnection, logger: Logger): NatsClient {
  const silence = new Silence(systemClock, () => nats.stats().inMsgs);
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
      logger.error("a NATS server reports an error", { error: status.error.message });
    }
  };
  void (async () => {
    for await (const status of nats.status()) note(status);
  })();
  return {
    nats,
    isUp: () => downSince === undefined && !nats.isClosed(),
    downForMs() {
      const forMs = downSince === undefined ? 0 : performance.now() - downSince;
      return silence.ms < SILENT_MS && downSince === undefined ? 0 : Math.max(silence.ms, forMs);
    },
    onUp(listener) {
      const own = (): void => listener();
      listeners.add(own);
      return () => listeners.delete(own);
    },
    async close() {
      silence.stop();
      // Send the last published messages, but do not wait long for a server that does not answer.
      const flushed = nats.flush().catch(() => undefined);
      await Promise.race([flushed, new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
      await nats.close();
    },
  };
}
