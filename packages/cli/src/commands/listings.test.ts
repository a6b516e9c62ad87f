import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestSystem, testSystem } from "../data-commands.test-support.ts";
import { EXIT } from "../exit-codes.ts";

let system: TestSystem;

beforeAll(async () => {
  system = await testSystem("workers:\n  - name: svc-http\n  - name: svc-event\n");
  const { worker } = system;
  worker.registerFunction("math::add", ({ a, b }: { a: number; b: number }) => ({ c: a + b }), {
    description: "Adds two numbers",
    requestFormat: {
      type: "object",
      properties: { a: { type: "number", description: "the first" }, b: { type: "number" }, name: { type: "string" } },
      required: ["a", "b"],
    },
    responseFormat: { type: "object", properties: { c: { type: "number" } }, required: ["c"] },
  });
  worker.registerFunction("math::odd", () => null, { description: "red \u001b[31m ink" });
  const described = { api_path: "math/add", http_method: "POST", description: "Adds for the shop" } as const;
  await Promise.all([
    worker.registerTrigger({ type: "http", function_id: "math::add", config: described }).registered,
    worker.registerTrigger({ type: "event", function_id: "math::none", config: { topic: "orders.*" } }).registered,
  ]);
}, 60_000);

afterAll(() => system.stop());

describe("svc functions", () => {
  it("lists functions of workers and the number of those that --all adds", async () => {
    const { status, out, notes } = await system.svc(["functions"]);
    expect(status).toBe(EXIT.done);
    expect(out).toMatch(/^FUNCTION +WORKER +TRIGGERS +STATUS +DESCRIPTION\n/);
    expect(out).toMatch(/^math::add +math-worker +http +available +Adds two numbers$/m);
    expect(out).not.toContain("event::emit");
    const { out: all, notes: none } = await system.svc(["functions", "--all"]);
    const more = all.split("\n").length - out.split("\n").length;
    expect(notes).toBe(
      `${more} functions of the engine and its modules are hidden; show them with: svc functions --all\n`,
    );
    expect(none).toBe("");
  });

  it("shows functions of modules with --all, of one worker with --worker, and matches with --search", async () => {
    expect((await system.svc(["functions", "--all"])).out).toContain("event::emit");
    expect((await system.svc(["functions", "--worker", "svc-event"])).out).toContain("event::emit");
    expect((await system.svc(["functions", "--search", "emit"])).out).toMatch(/^event::emit/m);
    expect(await system.svc(["functions", "--worker", "math-wroker"])).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("did you mean math-worker?"),
    });
  });

  it("fits the terminal, and lets no function change its colours", async () => {
    const { out } = await system.svc(["functions"], { outColumns: 60, env: { NO_COLOR: "1" } });
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(60);
    expect(out).not.toContain("\u001b");
    expect(out).toMatch(/^math::add +math-worker +http +available\n {4}Adds two numbers$/m);
  });

  it("truncates no name that another command takes", async () => {
    const { worker } = system;
    const long = "math::add_all_numbers_and_tell_everybody";
    const registered = worker.registerFunction(long, () => null, { description: "Adds all numbers" });
    await expect
      .poll(async () => (await system.svc(["functions"], { outColumns: 60, env: { NO_COLOR: "1" } })).out)
      .toContain(`${long} `);
    registered.unregister();
    const { out } = await system.svc(["workers"], { outColumns: 60, env: { NO_COLOR: "1" } });
    expect(out).toMatch(/^math-worker /m);
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  it("prints one JSON document with --json", async () => {
    const { functions } = JSON.parse((await system.svc(["functions", "--json"])).out) as {
      functions: { function_id: string }[];
    };
    expect(functions.map(({ function_id }) => function_id)).toContain("math::add");
  });

  it("describes one function: formats, triggers and a call that works", async () => {
    const { out } = await system.svc(["functions", "math::add"]);
    expect(out).toContain("workers     math-worker\n");
    expect(out).toContain("triggers    http  POST /math/add\n");
    expect(out).toContain("  a     number  required  the first\n");
    expect(out).toContain("  name  text    optional\n");
    const [, words] = /svc (trigger math::add .*)/.exec(out) ?? [];
    expect(words).toBe("trigger math::add a=1 b=1");
    expect((await system.svc((words ?? "").split(" "))).out).toBe('{"c":2}\n');
  });

  it("suggests the nearest function or the missing module", async () => {
    expect(await system.svc(["functions", "math::ad"])).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("did you mean math::add?"),
    });
    expect(await system.svc(["functions", "state::get"])).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("svc worker add svc-state"),
    });
  });
});

describe("svc triggers", () => {
  it("shows the condition of each trigger and why one is inactive", async () => {
    const { out, notes } = await system.svc(["triggers"]);
    expect(out).toMatch(/^http +POST \/math\/add +math::add +active +Adds for the shop$/m);
    expect(out).toMatch(/^event +orders\.\* +math::none +inactive$/m);
    expect((await system.svc(["triggers", "--type", "event"])).out).not.toContain("DESCRIPTION");
    expect(notes).toMatch(/^note: event orders\.\* → math::none: \S+/m);
  });

  it("filters by type and suggests the nearest known type", async () => {
    expect((await system.svc(["triggers", "--type", "http"])).out).not.toContain("orders");
    expect(await system.svc(["triggers", "--type", "htpp"])).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("did you mean http?"),
    });
    expect(JSON.parse((await system.svc(["triggers", "--type", "http", "--json"])).out)).toMatchObject({
      triggers: [{ function_id: "math::add", status: "active" }],
    });
  });
});

describe("svc workers", () => {
  it("lists connected workers, including remote ones, and modules with --all", async () => {
    const { out } = await system.svc(["workers"]);
    // The column shows the version of the SDK, not of the runtime.
    expect(out).toMatch(/^NAME +KIND +SDK +PROCESS/);
    expect(out).toMatch(new RegExp(`^math-worker +remote +node .* ${process.pid} at 127\\.0\\.0\\.1 +2 +0 +`, "m"));
    expect(out).not.toContain("svc-http");
    expect((await system.svc(["workers", "--all"])).out).toMatch(/^svc-http +module/m);
    expect(JSON.parse((await system.svc(["workers", "--json"])).out)).toMatchObject({
      workers: [{ name: "math-worker" }],
    });
  });
});
