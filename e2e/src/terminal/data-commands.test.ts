import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine } from "../support/cli.ts";
import { type Executed, openTerminal, type Terminal } from "../support/terminal.ts";

// The data commands, typed at a running system, in a real terminal. The tests share a project, an engine and a
// terminal.

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
  worker = connect(`ws://localhost:${ports.bridge}`, {
    name: "math-worker",
    logger: silentLogger,
    handleSignals: false,
  });
  const format = {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  } as const;
  worker.registerFunction("math::add", ({ a, b }: { a: number; b: number }) => ({ c: a + b }), {
    description: "Adds two numbers",
    requestFormat: format,
  });
  worker.registerFunction("math::double", async ({ a }: { a: number }, { call }) =>
    call({ function_id: "math::add", payload: { a, b: a } }),
  );
  worker.registerFunction("math::forever", (_, { signal }) => once(signal, "abort"));
  worker.registerFunction("orders::note", () => null);
  worker.registerFunction("orders::fail", () => {
    throw new Error("no stock");
  });
  await Promise.all([
    worker.registerTrigger({
      type: "http",
      function_id: "math::add",
      config: { api_path: "math/add", http_method: "POST" },
    }).registered,
    worker.registerTrigger({ type: "event", function_id: "orders::note", config: { topic: "orders.created" } })
      .registered,
    worker.registerTrigger({ type: "cron", function_id: "orders::note", config: { expression: "0 3 * * *" } })
      .registered,
  ]);
  // The tester may have an engine at the default port.
  const env = { SVC_BRIDGE_PORT: String(ports.bridge) };
  terminal = await openTerminal({ cwd: project, columns: COLUMNS, env });
});

afterAll(async () => {
  await terminal?.close();
  await worker?.shutdown();
  engine?.child.kill("SIGKILL");
  rmSync(project, { recursive: true, force: true });
});

/** Runs a command that should succeed and returns what is then on the screen. */
async function shown(command: string): Promise<string> {
  const { status, text } = await terminal.execute(command);
  expect(status, text).toBe(0);
  return text;
}

const failed = (command: string): Promise<Executed> => terminal.execute(command);
const log = (message: string): Promise<unknown> =>
  worker.call({ function_id: "engine::log::warn", payload: { message, service_name: "math-worker" } });

describe("svc trigger", () => {
  it("calls with arguments, a file and a pipe, and draws the trace below the result", async () => {
    expect(await shown("svc trigger math::add a=2 b=3")).toMatch(/^\{"c":5\}$/m);
    expect(await shown("svc trigger math::add --payload @order.json")).toMatch(/^\{"c":42\}$/m);
    expect(await shown("cat order.json | svc trigger math::add - | cat")).toContain('\n{"c":42}\n');
    const drawn = await shown("svc trigger math::double a=4 --trace");
    expect(drawn).toMatch(/^\{"c":8\}\n\ntrace [0-9a-f]{32} .*2 spans$/m);
    expect(drawn).toMatch(/^math::double +math-worker .*█.* ms\n└─ math::add +math-worker .*█.* ms$/m);
  });

  it("enqueues a call, calls without a result, and suggests the function that was meant", async () => {
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
  // No row is wrapped.
  expect(triggers.trimEnd().split("\n")).toHaveLength(5);
  await terminal.resize({ columns: COLUMNS, rows: 40 });
});

it("svc state stores, shows, lists, and asks before it deletes a prefix", async () => {
  expect(await shown('svc state set users ada \'{"name": "Ada"}\'')).toContain("Stored users/ada, version 1");
  expect(await shown("svc state get users ada")).toMatch(/^\{"name":"Ada"\}$/m);
  expect(await shown("svc state list")).toMatch(/^users +1 +\d+ B$/m);
  expect(await shown("svc state list users")).toMatch(/^ada +1 +\w.* +\{"name":"Ada"\}$/m);
  expect(await shown("svc state list --query 'value.name:A*'")).toMatch(/^users +ada +1 +\w.* +\{"name":"Ada"\}$/m);
  expect(await failed("svc state list --query 'value.name:A* and kee:x'")).toMatchObject({
    status: 2,
    text: expect.stringContaining("unknown field kee; did you mean key? (at character 19)"),
  });
  await terminal.start("svc state delete users --prefix a");
  await terminal.shows(/Delete 1 key, every key of users with the prefix a\? \[y\/N\]/);
  await terminal.type("y");
  await terminal.press("Enter");
  expect(await terminal.ended()).toMatchObject({ status: 0, text: expect.stringContaining("Deleted 1 of users") });
  expect(await failed("svc state get users ada")).toMatchObject({
    status: 1,
    text: expect.stringContaining("users/ada not found"),
  });
});

it("svc queue shows dead-letter jobs, redrives them, and purges a queue after confirmation", async () => {
  await shown("svc trigger orders::fail order=7 --enqueue default");
  await expect.poll(() => shown("svc queue list")).toMatch(/^default +0 +0 +0 +1 /m);
  expect(await shown("svc queue peek default --state dead")).toMatch(/orders::fail +1\/1 .*no stock +\{"order":7\}$/m);
  expect(await shown("svc queue redrive default")).toContain("Moved 1 dead-letter job back to default");
  await worker.call({
    function_id: "queue::enqueue",
    payload: { queue: "later", function_id: "orders::note", delay_ms: 3_600_000 },
  });
  await terminal.start("svc queue purge later");
  await terminal.shows(/Delete 1 job from later\? \[y\/N\]/);
  await terminal.press("Enter");
  expect(await terminal.ended()).toMatchObject({ status: 1, text: expect.stringContaining("Nothing was changed") });
  expect(await shown("svc queue purge later --yes")).toContain("Deleted 1 job from later");
});

it("svc event emit and svc cron report the outcome", async () => {
  expect(await shown("svc event emit orders.created id=7")).toContain(
    "Published orders.created: 1 trigger received it",
  );
  expect(await shown("svc cron list")).toMatch(/^orders::note +0 3 \* \* \* +in \d.* +never +active/m);
  expect(await shown("svc cron run orders::note")).toContain("Ran orders::note");
});

it("svc traces lists traces and draws one by the start of its id", async () => {
  await worker.call({ function_id: "math::double", payload: { a: 1 } });
  const list = await shown("svc traces --function math::double");
  const [, id = ""] = /^([0-9a-f]{12}) .* 2 +ok +\S+ +math::double$/m.exec(list) ?? [];
  expect(await shown(`svc traces ${id}`)).toMatch(/^math::double +math-worker .*█.*\n└─ math::add +math-worker .*█/m);
  // The job failed after the call that added it had succeeded.
  expect(await shown("svc traces --status error")).not.toMatch(/enqueue default$/m);
  expect(await shown("svc traces --with-errors")).toMatch(/ ok +svc +enqueue default$|✗ +svc +enqueue default$/m);
});

it("svc completion completes commands and the names of functions at Tab", async () => {
  await shown("source <(svc completion bash)");
  await terminal.start("svc state s\tnotes today 'remember the milk' --text");
  expect(await terminal.ended()).toMatchObject({ status: 0, text: expect.stringContaining("Stored notes/today") });
  await terminal.execute("clear");
  await terminal.type("svc trigger math::ad");
  // On a busy machine the names may arrive too late and nothing is completed; press Tab again, as a user would.
  await expect
    .poll(async () => terminal.press("Tab").then(() => terminal.screen()), { timeout: 30_000, interval: 500 })
    .toMatch(/svc trigger math::add/);
  await terminal.press("C-u");
  await terminal.start("svc trigger math::add a=1 b=1");
  expect((await terminal.ended()).text).toMatch(/^\{"c":2\}$/m);
});

it("svc logs --follow shows new entries, reconnects to the next engine, and exits with 0 at Ctrl-C", async () => {
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
  await worker.connected({ timeoutMs: 20_000 });
  await log("after the restart");
  await terminal.shows("math-worker after the restart");
  await terminal.press("C-c");
  expect(await terminal.ended()).toMatchObject({ status: 0 });
});

it("exits with 3 without an engine", async () => {
  await worker.shutdown();
  engine.child.kill("SIGKILL");
  await engine.exited;
  const { status, text } = await failed("svc functions");
  expect(status).toBe(3);
  expect(text).toContain("error:");
});
