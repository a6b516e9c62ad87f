import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { freePorts } from "@svc-runtime/protocol/testing";
import type { Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CallLoad } from "./support/call-load.ts";
import { type EngineProcess, startEngine } from "./support/cli.ts";
import { connectCaller } from "./support/connect-caller.ts";

const REPLACES = 6;
/** 200 calls per second. */
const CALL_EVERY_MS = 5;
/** Calls that are unread in the engine's socket when a worker is stopped. Meanwhile the worker's calls in flight end. */
const UNREAD_CALLS = 20;

const repository = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "svc-replace-"));

// `engine::workers::list` returns after the engine has read the earlier registration.
const NODE = `import { connect } from ${JSON.stringify(join(repository, "packages/sdk/dist/node.js"))};
const worker = connect();
worker.registerFunction("load::nap", ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, ms)));
await worker.call({ function_id: "engine::workers::list", payload: {} });
process.once("SIGTERM", () => console.log("shutting down"));
console.log("up");
`;
const PYTHON = `import asyncio
import svc
worker = svc.connect()
@worker.function("load::nap")
async def nap(payload):
    await asyncio.sleep(payload["ms"] / 1000)
    return payload["ms"]
worker.call({"function_id": "engine::workers::list", "payload": {}})
print("up", flush=True)
worker.run()
`;

let engine: EngineProcess;
let caller: Worker;
let url: string;
const children = new Set<WorkerChild>();

beforeAll(async () => {
  writeFileSync(join(folder, "config.yaml"), "workers: []\n");
  writeFileSync(join(folder, "worker.mjs"), NODE);
  writeFileSync(join(folder, "worker.py"), PYTHON);
  const ports = await freePorts();
  engine = await startEngine({ cwd: folder, ports });
  url = `ws://localhost:${ports.bridge}`;
  caller = connectCaller(url);
});

afterAll(async () => {
  engine?.child.kill("SIGCONT");
  for (const child of children) child.kill("SIGKILL");
  await caller?.shutdown({ timeoutMs: 1 });
  engine?.child.kill("SIGTERM");
  await engine?.exited;
  rmSync(folder, { recursive: true, force: true });
});

/** Resolves when the engine has registered its function. */
async function startWorker(command: string): Promise<WorkerChild> {
  const env = { ...process.env, SVC_URL: url, SVC_LOG_LEVEL: "info", PYTHONPATH: join(repository, "python/src") };
  const child = spawn("/bin/sh", ["-c", `exec ${command} 2>&1`], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const worker = new WorkerChild(child);
  children.add(worker);
  await worker.line("up");
  return worker;
}

/** Most of them short, some for 50 ms. */
function nap(ms: number): Promise<unknown> {
  return caller.call({ function_id: "load::nap", payload: { ms } });
}

class WorkerChild {
  readonly exited: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  #output = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    this.exited = once(child, "close");
    this.#lines = createInterface({ input: child.stdout as Readable });
    this.#lines.on("line", (line) => {
      this.#output += `${line}\n`;
    });
  }

  /** Resolves when it has printed a line with this text. */
  async line(text: string): Promise<void> {
    while (!this.#output.includes(text)) {
      const ended = this.exited.then(() =>
        Promise.reject(new Error(`the worker ended without writing ${text}:\n${this.#output}`)),
      );
      await Promise.race([once(this.#lines, "line"), ended]);
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

describe("a worker that is replaced under load (P-5)", () => {
  it.each([
    ["TypeScript", `${process.execPath} worker.mjs`],
    ["Python", `${join(repository, ".venv/bin/python")} worker.py`],
  ])("answers every call that was sent to it before the engine knew that it stops: %s", async (_language, command) => {
    let current = await startWorker(command);
    const load = new CallLoad({ everyMs: CALL_EVERY_MS, call: (made) => nap(made % 10 === 0 ? 50 : made % 5) });
    for (let replaced = 0; replaced < REPLACES; replaced++) {
      const next = await startWorker(command);
      // As on a busy machine: the engine has calls to route before it reads that a worker stops.
      engine.child.kill("SIGSTOP");
      await load.more(UNREAD_CALLS);
      current.kill("SIGTERM");
      await current.line("shutting down");
      engine.child.kill("SIGCONT");
      expect(await current.exited).toEqual([0, null]);
      children.delete(current);
      current = next;
    }
    await load.end();
    expect(load.failures).toEqual([]);
    current.kill("SIGKILL");
    await current.exited;
  });
});
