import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

const clients = fileURLToPath(new URL("../../../src/compat/clients/", import.meta.url));
/** Returns the Python of the environment that a program belongs to, e.g. of `python-0.11.py`. */
const pythonOf = (program: string): string =>
  fileURLToPath(new URL(`../../../../.cache/compat/${program.replace(/\.py$/, "")}/bin/python`, import.meta.url));

/** One of the published clients for this wire, with the facts that tests need. */
export interface PublishedClient {
  readonly name: string;
  readonly runtime: "node" | "python";
  readonly version: string;
  /** Sends `reattach`, sends metadata with calls, and handles failed and ended bindings. */
  readonly isLater: boolean;
  readonly program: string;
}

export const node11: PublishedClient = {
  name: "iii-sdk 0.11.6 (Node)",
  runtime: "node",
  version: "0.11.6",
  isLater: false,
  program: "node-0.11.mjs",
};
export const node22: PublishedClient = {
  name: "iii-sdk 0.22.1 (Node)",
  runtime: "node",
  version: "0.22.1",
  isLater: true,
  program: "node-0.22.mjs",
};
export const python11: PublishedClient = {
  name: "iii-sdk 0.11.6 (Python)",
  runtime: "python",
  version: "0.11.6",
  isLater: false,
  program: "python-0.11.py",
};
export const python22: PublishedClient = {
  name: "iii-sdk 0.22.1 (Python)",
  runtime: "python",
  version: "0.22.1",
  isLater: true,
  program: "python-0.22.py",
};

export const publishedClients = [node11, node22, python11, python22] as const;

/** Long enough for a busy machine. Normally nothing waits this long. */
const DEADLINE_MS = 60_000;

export interface ClientEvent {
  readonly event: string;
  readonly function?: string;
  readonly data?: unknown;
  readonly metadata?: unknown;
  readonly arguments?: number;
  readonly type?: string;
  readonly config?: Readonly<Record<string, unknown>>;
}

export interface ClientError {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  readonly function_id?: string;
  readonly stacktrace?: string;
}

/** Thrown if the client rejects the command. */
export class ClientFailure extends Error {
  readonly error: ClientError;
  constructor(error: ClientError) {
    super(`${error.type}: ${error.message}`);
    this.error = error;
  }
}

export interface ConnectOptions {
  readonly workerName?: string;
  readonly workerDescription?: string;
  readonly invocationTimeoutMs?: number;
  readonly reconnectionConfig?: {
    readonly initialDelayMs?: number;
    readonly jitterFactor?: number;
    readonly maxDelayMs?: number;
  };
  readonly enableMetricsReporting?: boolean;
  readonly otel?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ClientProcess {
  readonly client: PublishedClient;
  readonly pid: number;
  /** Everything that the client and its program printed. */
  output(): string;
  /** Runs a command of the program. Resolves with its value, rejects with ClientFailure. */
  run<T = unknown>(command: string, args?: Readonly<Record<string, unknown>>): Promise<T>;
  /** Resolves with the next matching event, past or future. Returns each event once. */
  next(wanted: (event: ClientEvent) => boolean, what: string): Promise<ClientEvent>;
  /** Events that were not consumed yet. */
  events(): readonly ClientEvent[];
  /** Exit code or signal. */
  readonly exited: Promise<number | string>;
  /**
   * Shuts the client down and resets it, so that the process can be used for another one. Returns false if the process
   * cannot be reused.
   */
  reset(): Promise<boolean>;
  kill(): Promise<void>;
}

const TRUE_OR_FALSE = [() => true, () => false] as const;

interface Waiter {
  readonly wanted: (event: ClientEvent) => boolean;
  readonly settle: (event: ClientEvent) => void;
}

/** Starts a process with one published client. It connects only on the command `connect`. */
export async function startClient(
  client: PublishedClient,
  options: { readonly timeFactor?: number; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<ClientProcess> {
  const program = `${clients}${client.program}`;
  const python = client.runtime === "python" ? pythonOf(client.program) : undefined;
  if (python !== undefined && !existsSync(python)) {
    throw new Error("The published Python clients are not installed. Run: node scripts/published-clients.mjs");
  }
  const shim = options.timeFactor === undefined ? [] : ["--import", `${clients}faster-time.mjs`];
  const [command, args] = python === undefined ? [process.execPath, [...shim, program]] : [python, ["-u", program]];
  const env = {
    ...process.env,
    OTEL_ENABLED: "false",
    SVC_TEST_TIME_FACTOR: String(options.timeFactor ?? 1),
    ...options.env,
  };
  const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "pipe", "pipe"] });
  const exited = once(child, "close").then(([code, signal]) => (code ?? signal) as number | string);

  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  // A killed process accepts no commands. The code below rejects the pending ones.
  child.stdin?.on("error", () => {});

  const answers = new Map<
    number,
    { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }
  >();
  const events: ClientEvent[] = [];
  const waiters = new Set<Waiter>();
  let next = 1;
  let isGone = false;
  createInterface({ input: child.stdio[3] as Readable }).on("line", (line) => {
    const said = JSON.parse(line) as ClientEvent & {
      readonly n?: number;
      readonly value?: unknown;
      readonly error?: ClientError;
    };
    if (said.n !== undefined) {
      const answer = answers.get(said.n);
      answers.delete(said.n);
      if (said.error === undefined) answer?.resolve(said.value);
      else answer?.reject(new ClientFailure(said.error));
      return;
    }
    for (const waiter of waiters) {
      if (!waiter.wanted(said)) continue;
      waiter.settle(said);
      return;
    }
    events.push(said);
  });
  void exited.then((code) => {
    isGone = true;
    for (const { reject } of answers.values()) reject(new Error(`${client.name} ended (${code}):\n${output}`));
    answers.clear();
  });

  const process_: ClientProcess = {
    client,
    pid: child.pid as number,
    output: () => output,
    events: () => events,
    exited,
    run<T>(name: string, given: Readonly<Record<string, unknown>> = {}) {
      if (isGone) return Promise.reject(new Error(`${client.name} has ended:\n${output}`));
      const n = next++;
      return new Promise<T>((resolve, reject) => {
        const limit = setTimeout(() => {
          answers.delete(n);
          reject(new Error(`${client.name}: \`${name}\` was not answered within ${DEADLINE_MS} ms\n${output}`));
        }, DEADLINE_MS);
        answers.set(n, {
          resolve: (value) => {
            clearTimeout(limit);
            resolve(value as T);
          },
          reject: (error) => {
            clearTimeout(limit);
            reject(error);
          },
        });
        child.stdin?.write(`${JSON.stringify({ n, do: name, with: given })}\n`);
      });
    },
    next(wanted, what) {
      const at = events.findIndex(wanted);
      if (at !== -1) return Promise.resolve(events.splice(at, 1)[0] as ClientEvent);
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          wanted,
          settle: (event) => {
            clearTimeout(limit);
            waiters.delete(waiter);
            resolve(event);
          },
        };
        const limit = setTimeout(() => {
          waiters.delete(waiter);
          reject(new Error(`${client.name}: not within ${DEADLINE_MS} ms: ${what}\n${output}`));
        }, DEADLINE_MS);
        waiters.add(waiter);
      });
    },
    async reset() {
      if (isGone || !(await process_.run("reset").then(...TRUE_OR_FALSE))) {
        await process_.kill();
        return false;
      }
      output = "";
      events.length = 0;
      return true;
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
  await process_.next(({ event }) => event === "ready", "the program is ready");
  return process_;
}
