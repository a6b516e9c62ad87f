import { mkdirSync, mkdtempSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CallError, channelRefSchema, FEATURES, type Feature, type FunctionId, Payload } from "@svc-runtime/protocol";
import type { SessionAccess } from "../access/session-access.ts";
import { createKernel, type Kernel } from "../create-kernel.ts";
import type { Channel } from "../kernel/channels/channel.ts";
import { localReader, localWriter } from "../kernel/channels/local-ends.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { Connection } from "../kernel/connection.ts";
import type { Directory } from "../kernel/directory.ts";
import type { FormatChecks } from "../kernel/format-check.ts";
import { createLogger, type LogRecord } from "../kernel/logger.ts";
import type { CallOptions, ChannelReader, ChannelWriter, HttpMount, Module } from "../kernel/module.ts";
import { ModuleHost, type ModuleRequest, type ModuleState } from "../kernel/module-host.ts";
import type { NodeOptions, Nodes } from "../kernel/nodes/nodes.ts";
import type { OpenStore } from "../kernel/store-contract.ts";
import type { WorkerLimits } from "../kernel/worker-limits.ts";
import { openStore } from "../store/open-store.ts";
import { openModuleListener } from "../transport/module-listener.ts";
import { type InMemoryClient, inMemoryPair } from "./in-memory-socket.ts";
import { openStreamSocket, type StreamSocket, type StreamSocketOptions } from "./stream-socket.ts";

/** A worker on the in-memory transport that sends and receives frames as plain objects. */
export interface InMemoryWorker extends InMemoryClient {
  readonly id: string;
  readonly reattachToken: string;
  say(message: Readonly<Record<string, unknown>>): void;
  /** Registers a function and responds to each call with the result of `handle`; a throw becomes an error result. */
  serve(functionId: string, handle: (data: unknown, frame: Record<string, unknown>) => unknown): void;
  /** Calls a function and resolves with its `invocationresult` frame. */
  call(functionId: string, data?: unknown, more?: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>>;
}

export interface InMemoryEngine {
  readonly kernel: Kernel;
  readonly directory: Directory;
  /** Log records so far. */
  readonly logs: readonly LogRecord[];
  /** Calls a function as a module would. Rejects with CallError. */
  call(functionId: string, payload?: unknown, options?: CallOptions): Promise<unknown>;
  /** Connects a worker. By default it declares all features; `features: []` makes a published client. */
  connectWorker(options?: {
    readonly name?: string;
    readonly features?: readonly Feature[];
    readonly runtime?: string;
    readonly pid?: number;
    readonly kind?: string;
    /** Version of its client; distinguishes published clients. */
    readonly version?: string;
    /** Its permissions. Default: not restricted. */
    readonly access?: SessionAccess;
  }): Promise<InMemoryWorker>;
  /** Starts, reconfigures and stops modules so that exactly these run. */
  applyModules(requests: readonly ModuleRequest[]): Promise<string[]>;
  /** Stops a module and starts it again, as after an expulsion from a log. */
  restartModule(instanceName: string): Promise<void>;
  moduleStates(): readonly ModuleState[];
  /** Base URL of a real HTTP server for the modules' mounts, e.g. `http://127.0.0.1:40123`. Started on first use. */
  http(): Promise<string>;
  /** Opens a stream connection at `path`, e.g. `/`. */
  openSocket(path: string, client?: StreamSocketOptions): StreamSocket;
  /** Takes an end of a channel, as a worker that received the ref would over its socket. */
  takeReader(ref: unknown): ChannelReader;
  takeWriter(ref: unknown): ChannelWriter;
  /** Notifies the modules that the engine begins to shut down, without further effects. */
  startDraining(): void;
  stop(): Promise<void>;
}

export interface InMemoryEngineOptions {
  /** Known modules. Those with an entry in `config` are started; without `config`, all of them. */
  readonly modules?: readonly Module[];
  readonly config?: Readonly<Record<string, unknown>>;
  readonly clock?: Clock;
  readonly limits?: Partial<WorkerLimits>;
  /** Folder of the modules' data. Default: stores are in memory, and an empty folder is for other files. */
  readonly dataDir?: string;
  /** See `ModuleContext.production`. Default false. */
  readonly production?: boolean;
  readonly deadlines?: Partial<Kernel["deadlines"]>;
  /** Default: no checks. */
  readonly formats?: FormatChecks;
  /** Makes the engine a node of a cluster. */
  readonly cluster?: NodeOptions;
  /** Starts the exchange of messages with the other nodes. Default: `nodes.start()`. */
  readonly startNodes?: (nodes: Nodes) => void;
  /** Returns what opens the stores of the run. Default: `openStore`, with a file only if `dataDir` is given. */
  readonly openStoreOf?: (run: string) => OpenStore;
}

/** The real kernel and real modules, without the engine's listeners and config file. */
export async function inMemoryEngine(options: InMemoryEngineOptions = {}): Promise<InMemoryEngine> {
  const logs: LogRecord[] = [];
  const clock = options.clock ?? systemClock;
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "svc-runtime-engine-"));
  mkdirSync(dataDir, { recursive: true });
  const kernel = createKernel({
    clock,
    log: createLogger({ level: "debug", now: () => clock.now(), write: (record) => logs.push(record) }),
    version: "0.0.0-test",
    deadlines: { defaultTimeoutMs: 30_000, legacyCallTimeoutMs: 900_000, ...options.deadlines },
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.formats === undefined ? {} : { formats: options.formats }),
    cluster: options.cluster,
  });
  const httpMounts: HttpMount[] = [];
  const modules = options.modules ?? [];
  const host = new ModuleHost(kernel, {
    modules,
    directory: kernel.directory,
    mounts: {
      mountHttp(mount) {
        httpMounts.push(mount);
        return () => httpMounts.splice(httpMounts.indexOf(mount), 1);
      },
      listen: (listenOptions) =>
        openModuleListener(listenOptions, {
          access: () => ({ allowedOrigins: [], allowedHosts: [] }),
          tokenRefusal: () => undefined,
          maxConnectionsPerAddress: () => undefined,
          log: kernel.log,
        }),
      reportReadiness: () => () => {},
    },
    dataDir,
    openStore: options.openStoreOf?.(kernel.identity.instanceId) ?? openStoreIn(options.dataDir),
    production: () => options.production ?? false,
  });
  kernel.directory.setModuleHost(host);

  async function handleHttp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    const mount = httpMounts
      .filter(({ prefix }) => path.startsWith(prefix))
      .sort((a, b) => b.prefix.length - a.prefix.length)[0];
    if (mount === undefined) response.writeHead(404).end();
    else await mount.handle(request, response, path);
  }
  const server = createServer((request, response) => {
    handleHttp(request, response).catch((error: unknown) => {
      kernel.log.error("an HTTP mount failed", { error });
      response.writeHead(500).end();
    });
  });
  let base: Promise<string> | undefined;

  function channelOf(ref: unknown): Channel {
    const { channel_id, access_key, direction } = channelRefSchema.parse(ref);
    const channel = kernel.channels.find(channel_id, access_key, direction);
    if (channel === undefined) throw new Error(`there is no channel ${channel_id} that this key opens`);
    return channel;
  }

  const engine: InMemoryEngine = {
    kernel,
    directory: kernel.directory,
    logs,
    async call(functionId, payload, callOptions) {
      const result = await kernel.router.call(functionId as FunctionId, Payload.fromValue(payload), callOptions);
      return result.value();
    },
    connectWorker: (workerOptions) => connectWorker(kernel, workerOptions),
    applyModules: (requests) => host.apply(requests),
    restartModule: (instanceName) => host.restart(instanceName),
    moduleStates: () => host.states(),
    http() {
      base ??= new Promise((resolve) =>
        server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
      );
      return base;
    },
    openSocket: (path, client) => openStreamSocket(kernel.streams, path, client),
    takeReader: (ref) => localReader(channelOf(ref)),
    takeWriter: (ref) => localWriter(channelOf(ref)),
    startDraining: () => {
      kernel.nodes?.startDraining();
      host.startDraining();
    },
    async stop() {
      kernel.nodes?.stop();
      await host.stopAll();
      server.closeAllConnections();
      server.close();
    },
  };
  if (kernel.nodes !== undefined) (options.startNodes ?? ((nodes) => nodes.start()))(kernel.nodes);
  const problems = await host.apply(
    modules
      .filter(({ name }) => options.config === undefined || Object.hasOwn(options.config, name))
      .map(({ name }) => ({ name, config: options.config?.[name] })),
  );
  if (problems.length > 0) {
    await engine.stop();
    throw new Error(problems.join("\n"));
  }
  return engine;
}

/** A store in memory takes a tenth of the time that a file and its thread take to open. */
function openStoreIn(dataDir: string | undefined): OpenStore {
  return dataDir === undefined ? (options) => openStore({ ...options, file: undefined }) : openStore;
}

async function connectWorker(
  kernel: Kernel,
  options: {
    readonly name?: string;
    readonly features?: readonly Feature[];
    readonly runtime?: string;
    readonly pid?: number;
    readonly kind?: string;
    readonly version?: string;
    readonly access?: SessionAccess;
  } = {},
): Promise<InMemoryWorker> {
  const { socket, client } = inMemoryPair();
  new Connection(kernel, socket, { access: options.access });
  const greeting = await client.next((frame) => frame.type === "workerregistered");
  const say = (message: Readonly<Record<string, unknown>>): void => client.send(JSON.stringify(message));
  say({
    type: "invokefunction",
    function_id: "engine::workers::register",
    action: { type: "void" },
    data: {
      runtime: options.runtime ?? "test",
      name: options.name ?? "worker",
      kind: options.kind ?? "worker",
      features: options.features ?? FEATURES,
      ...(options.pid === undefined ? {} : { pid: options.pid }),
      ...(options.version === undefined ? {} : { version: options.version }),
    },
  });
  const handlers = new Map<string, (data: unknown, frame: Record<string, unknown>) => unknown>();

  async function answer(frame: Record<string, unknown>): Promise<void> {
    const common = { type: "invocationresult", invocation_id: frame.invocation_id, function_id: frame.function_id };
    try {
      const result = await handlers.get(String(frame.function_id))?.(frame.data, frame);
      say({ ...common, result });
    } catch (thrown) {
      const code = CallError.is(thrown) ? thrown.code : "invocation_failed";
      say({ ...common, error: { code, message: (thrown as Error).message } });
    }
  }
  async function serveCalls(): Promise<void> {
    for (;;)
      void answer(
        await client.next((frame) => frame.type === "invokefunction" && handlers.has(String(frame.function_id))),
      );
  }

  let serving = false;
  return Object.assign(Object.create(client, Object.getOwnPropertyDescriptors(client)) as InMemoryClient, {
    id: String(greeting.worker_id),
    reattachToken: String(greeting.reattach_token),
    say,
    serve(functionId: string, handle: (data: unknown, frame: Record<string, unknown>) => unknown) {
      handlers.set(functionId, handle);
      say({ type: "registerfunction", id: functionId });
      if (serving) return;
      serving = true;
      // Ends with the connection.
      serveCalls().catch(() => {});
    },
    async call(functionId: string, data: unknown, more: Readonly<Record<string, unknown>> = {}) {
      const id = crypto.randomUUID();
      say({ type: "invokefunction", invocation_id: id, function_id: functionId, ...more, data });
      return client.next((frame) => frame.type === "invocationresult" && frame.invocation_id === id);
    },
  });
}
