import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, freePorts } from "@svc-runtime/protocol/testing";
import { type EngineProcess, type Ports, startEngine } from "../../support/cli.ts";
import { type Client, connectClient } from "./client.ts";

/** An engine process with a trusted worker, `owner`, and an additional listener for attackers. */
export interface Site {
  readonly engine: EngineProcess;
  readonly ports: Ports & { readonly restricted: number; readonly behindMiddleware: number };
  readonly folder: string;
  /** Base of the HTTP listener. */
  readonly http: string;
  /** A trusted worker. */
  readonly owner: Client;
  /** Connects to the listener with `rbac`, with or without a token. */
  connect(options?: ConnectOptions): Promise<Client>;
  /** Connects another trusted worker. */
  connectTrusted(name: string): Promise<Client>;
  /** Connects to the listener with a middleware and no rules. */
  connectBehindMiddleware(name: string, kind?: string): Promise<Client>;
  /** Replaces the config file. */
  edit(config: string): void;
  /** Log records so far. */
  records(): Readonly<Record<string, unknown>>[];
  stop(): Promise<void>;
}

interface ConnectOptions {
  readonly name?: string;
  readonly token?: string;
  readonly kind?: string;
  /** E.g. `?key=1`. */
  readonly query?: string;
}

export interface SitePorts extends Ports {
  readonly restricted: number;
  readonly behindMiddleware: number;
}

/** Starts an engine. `config` returns the text of the config file. */
export async function startSite(
  config: (ports: SitePorts) => string,
  options: { readonly env?: Readonly<Record<string, string>>; readonly token?: string } = {},
): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), "svc-adversary-"));
  const ports = { ...(await freePorts()), restricted: await freePort(), behindMiddleware: await freePort() };
  const file = join(folder, "config.yaml");
  writeFileSync(file, config(ports));
  const engine = await startEngine({ cwd: folder, ports, ...(options.env === undefined ? {} : { env: options.env }) });
  const clients: Client[] = [];
  const connected = async (port: number, { query = "", ...more }: ConnectOptions): Promise<Client> => {
    const client = await connectClient(`ws://127.0.0.1:${port}/${query}`, more);
    clients.push(client);
    return client;
  };
  const engineToken = options.token === undefined ? {} : { token: options.token };
  return {
    engine,
    ports,
    folder,
    http: `http://127.0.0.1:${ports.http}`,
    owner: await connected(ports.bridge, { name: "owner", ...engineToken }),
    connect: (more = {}) => connected(ports.restricted, more),
    connectTrusted: (name) => connected(ports.bridge, { name, ...engineToken }),
    connectBehindMiddleware: (name, kind) =>
      connected(ports.behindMiddleware, { name, ...(kind === undefined ? {} : { kind }) }),
    edit: (text) => writeFileSync(file, text),
    records: () =>
      engine
        .output()
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    async stop() {
      for (const client of clients) client.close();
      engine.child.kill("SIGTERM");
      await engine.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Counts events, so that a test can wait for the next ones. */
export class Ticks {
  #count = 0;
  readonly #waiting = new Set<() => void>();

  add(): void {
    this.#count++;
    for (const look of [...this.#waiting]) look();
  }

  get count(): number {
    return this.#count;
  }

  /** Resolves after another `count` events. */
  async more(count: number): Promise<void> {
    const goal = this.#count + count;
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (this.#count < goal) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }
}
