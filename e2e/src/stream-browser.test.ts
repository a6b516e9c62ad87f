import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import type { connectStreams as connectPageStreams, StreamCollection } from "@svc-runtime/sdk/browser";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startBrowser } from "./support/browser.ts";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";
import { type PageServer, servePage } from "./support/pages.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const GROUP = { streamName: "board", groupId: "g" };

/** What the page recorded of the counter, in order. */
type Note =
  | { readonly kind: "event"; readonly n: number; readonly version: number | undefined }
  /** `n` is null while the counter does not exist. */
  | { readonly kind: "sync"; readonly n: number | null }
  | { readonly kind: "gap"; readonly reason: string };

/** Globals of the code inside the page. */
declare const svc: { readonly connectStreams: typeof connectPageStreams };
declare let notes: Note[];
declare let board: StreamCollection<Readonly<Record<string, unknown>>>;

/**
 * Increments a counter in one item and changes others, one write after another. Retries a write until it is
 * acknowledged, so that the counter has no gap. Prints each acknowledged number. Ends when its input ends.
 */
const WRITER = `
import sys, threading
import svc

worker = svc.connect(name="writer")
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()

def until_done(function_id, item_id, **more):
    while True:
        try:
            payload = {"stream_name": "board", "group_id": "g", "item_id": item_id, **more}
            return worker.call({"function_id": function_id, "payload": payload})
        except svc.CallError:
            worker.wait_connected()

n = 0
while not over.is_set():
    n += 1
    until_done("stream::set", "counter", data={"n": n})
    print(n, flush=True)
    until_done("stream::set", f"item {n % 7}", data={"at": n})
    if n % 5 == 0:
        until_done("stream::delete", f"item {n % 3}")
worker.shutdown()
`;

const project = mkdtempSync(join(tmpdir(), "svc-stream-browser-"));
let ports: Ports;
let engine: EngineProcess;
let worker: Worker;
let served: PageServer;
let browser: Browser;
let writer: ChildProcess;
let acknowledged = 0;

async function start(): Promise<EngineProcess> {
  return startEngine({ cwd: project, ports });
}

beforeAll(async () => {
  [ports, served, browser] = await Promise.all([freePorts(), servePage(), startBrowser()]);
  writeFileSync(
    join(project, "config.yaml"),
    `engine:\n  allowed_origins: ["${served.origin}"]\nworkers:\n  - name: svc-stream\n`,
  );
  engine = await start();
  worker = connect(`ws://localhost:${ports.bridge}`, {
    handleSignals: false,
    logger: silentLogger,
    reconnect: { initialDelayMs: 100, maxDelayMs: 500 },
  });
  await worker.connected();
});

afterAll(async () => {
  writer?.kill("SIGKILL");
  await browser?.close();
  await Promise.all([served?.stop(), worker?.shutdown({ timeoutMs: 1 })]);
  engine?.child.kill("SIGKILL");
  await engine?.exited;
  rmSync(project, { recursive: true, force: true });
});

function startWriter(): void {
  writer = spawn(join(root, ".venv/bin/python"), ["-c", WRITER], {
    env: {
      ...process.env,
      PYTHONPATH: join(root, "python/src"),
      SVC_URL: `ws://localhost:${ports.bridge}`,
      SVC_LOG_LEVEL: "silent",
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  if (writer.stdout === null) throw new Error("the writer has no output");
  createInterface({ input: writer.stdout }).on("line", (line) => {
    acknowledged = Number(line);
  });
}

/**
 * Resolves when this many more writes of the counter were acknowledged and the page has received the latest of them.
 */
async function moreWrites(count: number, tab: Page): Promise<void> {
  const goal = acknowledged + count;
  await expect.poll(() => acknowledged, { timeout: 60_000 }).toBeGreaterThanOrEqual(goal);
  await tab.waitForFunction((n) => Number(board.get("counter")?.n) >= n, goal, { timeout: 60_000 });
}

it("a page receives all changes of a Python worker to a stream over two restarts of the engine", async () => {
  const tab = await browser.newPage();
  await tab.goto(`${served.origin}/`);
  await tab.evaluate(
    ([url, group]) => {
      const client = svc.connectStreams({ url, reconnect: { initialDelayMs: 100, maxDelayMs: 500 } });
      notes = [];
      board = client.collection(group);
      client.subscribe<{ n: number }>(
        { ...group, id: "counter" },
        {
          onSync: (item) => notes.push({ kind: "sync", n: item === null ? null : item.n }),
          onGap: ({ reason }) => notes.push({ kind: "gap", reason }),
          onEvent: (update) => {
            if (update.type === "create" || update.type === "update")
              notes.push({ kind: "event", n: update.data.n, version: update.version });
          },
        },
      );
      return board.ready;
    },
    [`ws://localhost:${ports.realtime}`, GROUP] as const,
  );
  startWriter();
  await moreWrites(50, tab);
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    engine.child.kill(signal);
    await engine.exited;
    engine = await start();
    await moreWrites(50, tab);
  }
  writer.stdin?.end();
  await once(writer, "close");
  const last = acknowledged;
  await tab.waitForFunction((n) => Number(board.get("counter")?.n) === n && board.status === "live", last, {
    timeout: 60_000,
  });

  const truth = new Map<string, unknown>();
  for await (const { itemId, value } of worker.stream.entries(GROUP.streamName, GROUP.groupId))
    truth.set(itemId, value);
  await expect
    .poll(async () => new Map([...(await tab.evaluate(() => [...board.items]))].sort()), { timeout: 30_000 })
    .toEqual(new Map([...truth].sort()));

  const seen = await tab.evaluate(() => notes);
  expect(seen.filter(({ kind }) => kind === "gap").length).toBeGreaterThanOrEqual(2);
  let [n, version, afterGap] = [0, 0, true];
  for (const note of seen) {
    if (note.kind === "gap") afterGap = true;
    else if (note.kind === "sync") {
      // The first sync, and those after a gap, may skip events. None goes backwards.
      expect(afterGap).toBe(true);
      expect(note.n ?? 0).toBeGreaterThanOrEqual(n);
      n = note.n ?? 0;
      version = 0;
    } else {
      expect(note.n).toBe(n + 1);
      if (version > 0) expect(note.version).toBe(version + 1);
      [n, version, afterGap] = [note.n, note.version ?? 0, false];
    }
  }
  expect(n).toBe(last);
});

it("a page is admitted to the streams by the engine's token, if that is required, and by nothing else", async () => {
  const [strictPorts, folder] = [await freePorts(), mkdtempSync(join(tmpdir(), "svc-stream-token-"))];
  writeFileSync(
    join(folder, "config.yaml"),
    `engine:\n  mode: production\n  allowed_origins: ["${served.origin}"]\nworkers:\n  - name: svc-stream\n`,
  );
  const strict = await startEngine({ cwd: folder, ports: strictPorts });
  const token = readFileSync(join(folder, ".svc/token"), "utf8").trim();
  const tab = await browser.newPage();
  await tab.goto(`${served.origin}/`);
  const outcomes = await tab.evaluate(
    async ([url, secret]) => {
      const outcome = async (options: { readonly url?: string; readonly token?: string }): Promise<string> => {
        const client = svc.connectStreams({ url, reconnect: { maxAttempts: 0 }, ...options });
        const workers = client.collection({ streamName: "svc.workers", groupId: "all" });
        try {
          await workers.ready;
          return workers.status;
        } catch (error) {
          return (error as { code: string }).code;
        } finally {
          await client.close();
        }
      };
      return [
        await outcome({ token: secret }),
        await outcome({ url: url.replace("ws://", `ws://svc:${secret}@`) }),
        await outcome({}),
        await outcome({ token: "guessed" }),
      ];
    },
    [`ws://localhost:${strictPorts.realtime}`, token] as const,
  );
  expect(outcomes).toEqual(["live", "live", "disconnected", "disconnected"]);
  strict.child.kill("SIGTERM");
  await strict.exited;
  rmSync(folder, { recursive: true, force: true });
});
