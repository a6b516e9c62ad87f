import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc/protocol/testing";
import { connect, silentLogger, type Worker } from "@svc/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine } from "../support/cli.ts";
import { type Executed, openTerminal, type Terminal } from "../support/terminal.ts";

// What a user types at a running system, and what is then on the screen. One project, one engine and one terminal for all of it.

const CONFIG = `workers:
  - name: svc-http
  - name: svc-state
    config: {adapter: {name: in_memory}}
  - name: svc-event
  - name: svc-cron
  - name: svc-queue
    config:
      adapter: {name: in_memory}
      queue_configs:
        default: {max_attempts: 1}
        later: {max_attempts: 1}
`;
const COLUMNS = 140;

let project: string;
let ports: Ports;
let engine: EngineProcess;
let worker: Worker;
let terminal: Terminal;

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "svc-data-commands-"));
  writeFileSync(join(project, "config.yaml"), CONFIG);
  writeFileSync(join(project, "order.json"), '{"a": 20, "b": 22}');
  ports = await freePorts();
  engine = await startEngine({ cwd: project, ports });
  worker = connect(`ws://localhost:${ports.bridge}`, { name: "math-worker", logger: silentLogger, handleSignals: false });
  const format = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] } as const;
  worker.registerFunction("math::add", ({ a, b }: { a: number; b: number }) => ({ c: a + b }), { description: "Adds two numbers", request_format: format });
  worker.registerFunction("math::double", async ({ a }: { a: number }, { call }) => call({ function_id: "math::add", payload: { a, b: a } }));
  worker.registerFunction("math::forever", (_, { signal }) => once(signal, "abort"));
  worker.registerFunction("orders::note", () => null);
  worker.registerFunction("orders::fail", () => {
    throw new Error("no stock");
  });
  await Promise.all([
    worker.registerTrigger({ type: "http", function_id: "math::add", config: { api_path: "math/add", http_method: "POST" } }).registered,
    worker.registerTrigger({ type: "event", function_id: "orders::note", config: { topic: "orders.created" } }).registered,
    worker.registerTrigger({ type: "cron", function_id: "orders::note", config: { expression: "0 3 * * *" } }).registered,
  ]);
  terminal = await openTerminal({ cwd: project, columns: COLUMNS });
}, 60_000);

afterAll(async () => {
  await terminal?.close();
  await worker?.shutdown();
  engine?.child.kill("SIGKILL");
  rmSync(project, { recursive: true, force: true });
});

/** Runs a command that is to succeed, and answers what is then on the screen. */
async function shown(command: string): Promise<string> {
  const { status, text } = await terminal.execute(command);
  expect(status, text).toBe(0);
  return text;
}

const failed = (command: string): Promise<Executed> => terminal.execute(command);
const log = (message: string): Promise<unknown> => worker.call({ function_id: "engine::log::warn", payload: { message, service_name: "math-worker" } });

describe("svc trigger", () => {
  it("calls with words, a file and a pipe, and draws the trace below the result", async () => {
    expect(await shown("svc trigger math::add a=2 b=3")).toMatch(/^\{"c":5\}$/m);
    expect(await shown("svc trigger math::add --payload @order.json")).toMatch(/^\{"c":42\}$/m);
    expect(await shown("cat order.json | svc trigger math::add - | cat")).toContain('\n{"c":42}\n');
    const drawn = await shown("svc trigger math::double a=4 --trace");
    expect(drawn).toMatch(/^\{"c":8\}\n\ntrace [0-9a-f]{32} .*2 spans$/m);
    expect(drawn).toMatch(/^math::double +math-worker .*█.* ms\n└─ math::add +math-worker .*█.* ms$/m);
  });

  it("puts a call on a queue, makes one without an answer, and names what was meant", async () => {
    expect(await shown("svc trigger orders::note --enqueue default")).toMatch(/^[0-9a-f-]{36}$/m);
    await shown("svc trigger orders::note --void");
    const { status, text } = await failed("svc trigger math::ad a=1");
    expect(status).toBe(1);
    expect(text).toContain("did you mean math::add?");
    expect((await failed("svc trigger math::add {a: 1}")).status).toBe(2);
  });

  it("shows how long a call takes, until Ctrl-C cancels it", async () => {
    await terminal.start("svc trigger math::forever");
    await terminal.shows(/Calling math::forever; Ctrl-C cancels\./);
    await terminal.press("C-c");
    const { status, text } = await terminal.ended();
    expect(status).toBe(1);
    expect(text).toContain("call_cancelled");
  });
});

it("svc functions, triggers and workers fit the terminal", async () => {
  expect(await shown("svc functions")).toMatch(/^math::add +math-worker +http +available +Adds two numbers$/m);
  expect(await shown("svc functions math::add")).toContain("svc trigger math::add a=1 b=1");
  expect(await shown("svc workers")).toMatch(/^math-worker +remote +node /m);
  await terminal.resize({ columns: 80, rows: 40 });
  const triggers = await shown("svc triggers");
  expect(triggers).toMatch(/^http +POST \/math\/add +math::add +active/m);
  expect(triggers).toMatch(/^cron +0 3 \* \* \* .*orders::note/m);
  // No row was broken into two.
  expect(triggers.trimEnd().split("\n")).toHaveLength(5);
  await terminal.resize({ columns: COLUMNS, rows: 40 });
});

it("svc state stores, shows, lists, and asks before it deletes many", async () => {
  expect(await shown('svc state set users ada \'{"name": "Ada"}\'')).toContain("Stored users/ada, version 1");
  expect(await shown("svc state get users ada")).toMatch(/^\{"name":"Ada"\}$/m);
  expect(await shown("svc state list")).toMatch(/^users +1 +\d+ B$/m);
  expect(await shown("svc state list users")).toMatch(/^ada +1 +\w.* +\{"name":"Ada"\}$/m);
  await terminal.start("svc state delete users --prefix a");
  await terminal.shows(/Delete 1 key, every key of users that begins with a\? \[y\/N\]/);
  await terminal.type("y");
  await terminal.press("Enter");
  expect(await terminal.ended()).toMatchObject({ status: 0, text: expect.stringContaining("Deleted 1 of users") });
  expect(await failed("svc state get users ada")).toMatchObject({ status: 1, text: expect.stringContaining("users/ada holds nothing") });
});

it("svc queue shows dead letters, puts them back, and empties a queue that is meant to be", async () => {
  await shown("svc trigger orders::fail order=7 --enqueue default");
  await expect.poll(() => shown("svc queue list"), { timeout: 20_000 }).toMatch(/^default +0 +0 +0 +1 /m);
  expect(await shown("svc queue peek default --state dead")).toMatch(/orders::fail +1\/1 .*no stock +\{"order":7\}$/m);
  expect(await shown("svc queue redrive default")).toContain("Put back 1 job of default");
  await worker.call({ function_id: "queue::enqueue", payload: { queue: "later", function_id: "orders::note", delay_ms: 3_600_000 } });
  await terminal.start("svc queue purge later");
  await terminal.shows(/Take 1 job out of later for good\? \[y\/N\]/);
  await terminal.press("Enter");
  expect(await terminal.ended()).toMatchObject({ status: 1, text: expect.stringContaining("Nothing was changed") });
  expect(await shown("svc queue purge later --yes")).toContain("Took out 1 job of later");
});

it("svc event emit and svc cron say what came of it", async () => {
  expect(await shown("svc event emit orders.created id=7")).toContain("Published orders.created: 1 trigger took it");
  expect(await shown("svc cron list")).toMatch(/^orders::note +0 3 \* \* \* +in \d.* +never +active/m);
  expect(await shown("svc cron run orders::note")).toContain("Ran orders::note");
});

it("svc traces lists, and draws the one that is meant by the beginning of its id", async () => {
  await worker.call({ function_id: "math::double", payload: { a: 1 } });
  const list = await shown("svc traces --function math::double");
  const [, id = ""] = /^([0-9a-f]{12}) .* 2 +ok +\S+ +math::double$/m.exec(list) ?? [];
  expect(await shown(`svc traces ${id}`)).toMatch(/^math::double +math-worker .*█.*\n└─ math::add +math-worker .*█/m);
  expect(await shown("svc traces --status error")).toMatch(/✗ +svc +enqueue default$/m);
});

it("svc completion completes commands and the names of functions at Tab", async () => {
  await shown("source <(svc completion bash)");
  await terminal.start("svc state s\tnotes today 'remember the milk' --text");
  expect(await terminal.ended()).toMatchObject({ status: 0, text: expect.stringContaining("Stored notes/today") });
  await terminal.execute("clear");
  await terminal.type("svc trigger math::ad");
  // Where much goes on at once names may come too late, and there is none: a user presses Tab again, too.
  await expect.poll(async () => terminal.press("Tab").then(() => terminal.screen()), { timeout: 30_000, interval: 500 }).toMatch(/svc trigger math::add/);
  await terminal.press("C-u");
  await terminal.start("svc trigger math::add a=1 b=1");
  expect((await terminal.ended()).text).toMatch(/^\{"c":2\}$/m);
});

it("svc logs --follow shows what comes, goes on with the next engine, and ends with 0 at Ctrl-C", async () => {
  await log("before following");
  expect(await shown("svc logs --service math-worker")).toMatch(/ warn {2}math-worker before following/);
  await terminal.start("svc logs --follow --level warn --service math-worker");
  await terminal.shows("math-worker before following");
  await log("while following");
  await terminal.shows("math-worker while following");
  engine.child.kill("SIGKILL");
  await engine.exited;
  await terminal.shows("disconnected from the engine; reconnecting");
  engine = await startEngine({ cwd: project, ports });
  await terminal.shows("reconnected to the engine");
  await worker.connected({ timeout_ms: 20_000 });
  await log("after the restart");
  await terminal.shows("math-worker after the restart");
  await terminal.press("C-c");
  expect(await terminal.ended()).toMatchObject({ status: 0 });
});

it("ends with 3 where no engine is", async () => {
  await worker.shutdown();
  engine.child.kill("SIGKILL");
  await engine.exited;
  const { status, text } = await failed("svc functions");
  expect(status).toBe(3);
  expect(text).toContain("error:");
});
