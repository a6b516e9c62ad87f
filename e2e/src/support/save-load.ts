import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePorts } from "@svc-runtime/protocol/testing";
import type { Worker } from "@svc-runtime/sdk";
import { CallLoad } from "./call-load.ts";
import { type EngineProcess, type Ports, startEngine } from "./cli.ts";
import { connectCaller } from "./connect-caller.ts";
import { eventually } from "./processes.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
/** 100 calls and 50 requests per second. */
const CALL_EVERY_MS = 10;
const REQUEST_EVERY_MS = 20;
/** A file that changes more than 20 times a minute counts as written by the worker itself, and is no longer watched. */
const MAX_QUICK_SAVES = 20;
const SLOW_SAVE_MS = 3_100;

export interface SavedStatus {
  readonly state: string;
  readonly reason: string | null;
  readonly problem: string | null;
  readonly pids: readonly number[];
  readonly replicas: readonly { readonly index: number; readonly state: string; readonly pid: number | null }[];
}

interface Source {
  readonly file: string;
  readonly manifest: string;
  readonly text: (version: number) => string;
}

/**
 * A worker's function returns the version of its source after `ms` milliseconds, and its route at once. In JavaScript each
 * version has another function for the route.
 */
export const SOURCES = {
  node: {
    file: "worker.mjs",
    manifest: `exec ${process.execPath} worker.mjs`,
    text: (version) => `import { connect } from ${JSON.stringify(join(repository, "packages/sdk/dist/node.js"))};
const worker = connect();
worker.registerFunction("node::version", async ({ ms }) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return ${version};
});
worker.registerFunction("node::page_${version}", () => ({ status_code: 200, body: { version: ${version} } }));
const config = { api_path: "/node", http_method: "GET" };
worker.registerTrigger({ type: "http", function_id: "node::page_${version}", config });
`,
  },
  python: {
    file: "worker.py",
    manifest: `exec ${join(repository, ".venv/bin/python")} worker.py`,
    text: (version) => `import asyncio
import svc
worker = svc.connect()
@worker.function("python::version")
async def version(payload):
    await asyncio.sleep(payload["ms"] / 1000)
    return ${version}
@worker.function("python::page")
def page(request):
    return {"status_code": 200, "body": {"version": ${version}}}
config = {"api_path": "/python", "http_method": "GET"}
worker.register_trigger({"type": "http", "function_id": "python::page", "config": config})
worker.run()
`,
  },
} as const satisfies Record<string, Source>;

/** A project with one worker of each source, and its engine. */
export class SavedProject {
  readonly folder = mkdtempSync(join(tmpdir(), "svc-saves-"));
  engine!: EngineProcess;
  caller!: Worker;
  #ports!: Ports;

  /** Adds a worker. `more`: further lines of its manifest. */
  write(
    name: string,
    { file, manifest, text, more = "" }: Omit<Source, "text"> & { readonly text: string; readonly more?: string },
  ): void {
    mkdirSync(join(this.folder, name), { recursive: true });
    this.save(name, file, text);
    this.save(name, "svc.worker.yaml", `name: ${name}\nruntime: {kind: other}\nscripts: {start: ${manifest}}\n${more}`);
  }

  save(name: string, file: string, text: string): void {
    writeFileSync(join(this.folder, name, file), text);
  }

  /** Starts the engine with these workers. */
  async start(names: readonly string[]): Promise<void> {
    const env = `env: {PYTHONPATH: ${join(repository, "python/src")}}`;
    const workers = names.map((name) => `  - {name: ${name}, path: ${name}, ${env}}\n`);
    writeFileSync(join(this.folder, "config.yaml"), `workers:\n  - name: svc-http\n${workers.join("")}`);
    this.#ports = await freePorts();
    this.engine = await startEngine({ cwd: this.folder, ports: this.#ports });
    this.caller = connectCaller(`ws://localhost:${this.#ports.bridge}`);
  }

  async close(): Promise<void> {
    await this.caller?.shutdown({ timeoutMs: 1 });
    this.engine?.child.kill("SIGTERM");
    await this.engine?.exited;
    rmSync(this.folder, { recursive: true, force: true });
  }

  async statusWith(name: string, isWanted: (status: SavedStatus) => boolean): Promise<SavedStatus> {
    let status: SavedStatus | undefined;
    await eventually(
      `${name} is as wanted`,
      async () => {
        status = await this.caller.call<SavedStatus>({ function_id: "worker::status", payload: { name } });
        return isWanted(status);
      },
      60_000,
    );
    return status as SavedStatus;
  }

  /**
   * Saves the worker's source, and calls and requests it all the while. Each version must serve both. Restarts it at the
   * end. Returns the number of calls and requests, and the failed ones.
   */
  async saveUnderLoad(
    name: keyof typeof SOURCES,
    { saves, onSaved = () => {} }: { readonly saves: number; readonly onSaved?: (version: number) => void },
  ): Promise<{ readonly made: number; readonly failures: readonly string[] }> {
    const { file, text } = SOURCES[name];
    await this.statusWith(name, ({ state }) => state === "ready");
    const calls = new CallLoad<number>({
      everyMs: CALL_EVERY_MS,
      // Most of them are short.
      call: (made) =>
        this.caller.call({ function_id: `${name}::version`, payload: { ms: made % 10 === 0 ? 50 : made % 5 } }),
    });
    const requests = new CallLoad<number>({ everyMs: REQUEST_EVERY_MS, call: () => this.#request(name) });
    const loads = [calls, requests];
    for (let version = 1; version <= saves; version++) {
      const served = loads.map((load) => load.result((result) => result === version));
      this.save(name, file, text(version));
      const paced = saves > MAX_QUICK_SAVES ? pause(SLOW_SAVE_MS) : undefined;
      await Promise.all(served);
      const { replicas } = await this.statusWith(name, ({ state }) => state === "ready");
      if (replicas.length !== 1) throw new Error(`${replicas.length} processes of ${name} are left`);
      onSaved(version);
      await paced;
    }
    await this.caller.call({ function_id: "worker::restart", payload: { name } });
    await this.statusWith(name, ({ state }) => state === "ready");
    await Promise.all(loads.map((load) => load.end()));
    return { made: calls.made + requests.made, failures: loads.flatMap(({ failures }) => failures) };
  }

  async #request(name: string): Promise<number> {
    const response = await fetch(`http://localhost:${this.#ports.http}/${name}`);
    const body = await response.text();
    if (response.status !== 200) throw Object.assign(new Error(body), { code: `HTTP ${response.status}` });
    return (JSON.parse(body) as { version: number }).version;
  }
}
