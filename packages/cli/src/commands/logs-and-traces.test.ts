import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, type TestSystem, testSystem } from "../data-commands.test-support.ts";
import { EXIT } from "../exit-codes.ts";
import { startTestEngine } from "../running-engine.test-support.ts";

let system: TestSystem;
let tracer: Worker;
const svc = (...args: readonly string[]): Promise<Ended> => system.svc(args);

function log(message: string, level = "info", data: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
  return tracer.call({ function_id: `engine::log::${level}`, payload: { message, data, service_name: "shop-worker" } });
}

interface Row {
  readonly trace_id: string;
  readonly root_name: string;
}

async function traceOf(functionId: string): Promise<string> {
  const { traces } = JSON.parse((await svc("traces", "--function", functionId, "--json")).out) as {
    readonly traces: readonly Row[];
  };
  return traces[0]?.trace_id ?? "";
}

beforeAll(async () => {
  system = await testSystem();
  const { worker } = system;
  worker.registerFunction("math::add", ({ a, b }: { a: number; b: number }) => ({ c: a + b }));
  worker.registerFunction("math::double", async ({ a }: { a: number }, { call }) =>
    call({ function_id: "math::add", payload: { a, b: a } }),
  );
  worker.registerFunction("math::broken", () => {
    throw new Error("out of numbers");
  });
  worker.registerFunction("math::logged", async (_, { call }) => {
    await call({ function_id: "engine::log::info", payload: { message: "adding up" } });
    return null;
  });
  tracer = connect(system.engine.url, { name: "shop-worker", logger: silentLogger, handleSignals: false });
  await tracer.connected();
  await worker.call({ function_id: "math::add", payload: { a: 1, b: 1 } });
  await log("order paid", "info", { order_id: 7 });
  await log("stock is low", "warn");
  await log("two\nlines \u001b[31m", "error");
  await tracer.call({ function_id: "math::double", payload: { a: 4 } });
  await tracer.call({ function_id: "math::logged" });
  await tracer.call({ function_id: "math::broken" }).catch(() => {});
}, 60_000);

afterAll(async () => {
  await tracer.shutdown();
  await system.stop();
});

describe("svc logs", () => {
  it("shows the last entries, oldest first, with time, level, service, message and attributes", async () => {
    const { status, out } = await svc("logs", "--service", "shop-worker");
    expect(status).toBe(EXIT.done);
    const lines = out.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} info {2}shop-worker order paid order_id=7/);
    expect(lines[1]).toMatch(/ warn {2}shop-worker stock is low/);
    expect(lines[2]).toMatch(/ error shop-worker two/);
    expect(lines[3]).toBe(String.raw`    lines \u001b[31m`);
  });

  it("filters by level, text, number and time", async () => {
    expect((await svc("logs", "--level", "warn", "--service", "shop-worker")).out).not.toContain("order paid");
    expect((await svc("logs", "--search", "STOCK", "--since", "10m")).out.trimEnd().split("\n")).toHaveLength(1);
    expect((await svc("logs", "--service", "shop-worker", "--tail", "1")).out).not.toContain("stock");
    expect((await svc("logs", "--service", "shop-worker", "--limit", "1")).out).not.toContain("stock");
    expect(await svc("logs", "--service", "shop-worker", "--tail", "0")).toMatchObject({ status: EXIT.done, out: "" });
    const { logs } = JSON.parse((await svc("logs", "--search", "order paid", "--json")).out) as {
      logs: readonly object[];
    };
    expect(logs).toEqual([
      expect.objectContaining({
        body: "order paid",
        service_name: "shop-worker",
        attributes: expect.objectContaining({ order_id: 7 }),
      }),
    ]);
  });

  it("filters by a query, and points at an error in one", async () => {
    const { out } = await svc("logs", "--query", "service:shop-worker and (attr.order_id:7 or error)");
    expect(out).toContain("order paid");
    expect(out).toContain("two");
    expect(out).not.toContain("stock is low");
    expect(await svc("logs", "-q", "error and servcie:x")).toMatchObject({
      status: EXIT.usage,
      notes: expect.stringContaining(
        "unknown field servcie; did you mean service? (at character 11)\n  error and servcie:x\n            ^",
      ),
    });
  });

  it("filters by the first characters of a trace id", async () => {
    const id = await traceOf("math::logged");
    const { out } = await svc("logs", "--trace", id.slice(0, 12));
    expect(out).toMatch(new RegExp(`adding up .*trace=${id.slice(0, 12)}\n$`));
    expect(await svc("logs", "--trace", "nothing")).toMatchObject({
      status: EXIT.usage,
      notes: expect.stringContaining(
        "32 hexadecimal digits; the first ones are enough. To filter instead, pass --query.",
      ),
    });
  });

  it("suggests the nearest service or function if nothing matches", async () => {
    expect(await svc("logs", "--service", "shop-wroker")).toMatchObject({
      status: EXIT.done,
      notes: "No entry matches; did you mean shop-worker?\n",
    });
    expect((await svc("logs", "--function", "math::ad")).notes).toBe("No entry matches; did you mean math::add?\n");
    expect((await svc("logs", "--search", "nothing says this")).notes).toBe("No entry matches.\n");
    expect(await svc("logs", "--level", "wran")).toMatchObject({ status: EXIT.usage });
  });

  it("rejects an invalid time", async () => {
    expect(await svc("logs", "--since", "yesterday")).toMatchObject({
      status: EXIT.usage,
      notes: expect.stringContaining("duration ago"),
    });
  });

  it("follows until Ctrl-C and exits with 0", async () => {
    const { shell, ended } = system.started(["logs", "--follow", "--tail", "0", "--json", "--level", "warn"]);
    await expect.poll(() => shell.listeners()).toBeGreaterThan(0);
    // Repeats until the first entry arrives, because the start of following is not visible from outside.
    await expect.poll(async () => log("paper is out", "warn").then(() => shell.written.out)).toContain("paper is out");
    await log("not this one");
    await log("and this", "error");
    await shell.printed("and this");
    shell.stop("SIGINT");
    expect(await ended).toBe(EXIT.done);
    const bodies = shell.written.out
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { body: string }).body);
    expect(bodies.filter((body) => body === "and this")).toHaveLength(1);
    expect(bodies).not.toContain("not this one");
  });
});

describe("svc traces", () => {
  it("lists the latest traces with their status", async () => {
    const { out } = await svc("traces");
    expect(out).toMatch(/^TRACE +BEGAN +TOOK +SPANS +STATUS +SERVICE +NAME\n/);
    expect(out).toMatch(/^[0-9a-f]{12} +\d\d:\d\d:\d\d\.\d{3} +[\d.]+ m?s +2 +ok +\S+ +math::double$/m);
    expect(out).toMatch(/ +1 +1 ✗ +\S+ +math::broken$/m);
  });

  it("filters by status, function, time and number", async () => {
    expect((await svc("traces", "--status", "error")).out).not.toContain("math::double");
    expect(
      (await svc("traces", "--function", "math::double", "--since", "10m", "--limit", "1")).out.trimEnd().split("\n"),
    ).toHaveLength(2);
    expect((await svc("traces", "--function", "math::doubel")).notes).toBe(
      "No trace matches; did you mean math::double?\n",
    );
    expect((await svc("traces", "--service", "math-wroker")).notes).toBe(
      "No trace matches; did you mean math-worker?\n",
    );
    expect(await svc("traces", "--min-duration", "9999999")).toMatchObject({
      status: EXIT.done,
      out: "",
      notes: "No trace matches.\n",
    });
  });

  it("filters by a query", async () => {
    const { out } = await svc("traces", "--query", "error and function:math::* or function:math::double");
    expect(out).toContain("math::broken");
    expect(out).toContain("math::double");
    expect(out).not.toContain("math::logged");
    expect((await svc("traces", "--query", "-error function:math::broken")).notes).toBe("No trace matches.\n");
    expect(await svc("traces", "--query", "duration>fast")).toMatchObject({
      status: EXIT.usage,
      notes: expect.stringContaining("expected duration with >, >=, < or <= and a duration"),
    });
  });

  it("draws a trace as a tree with bars, timings and errors", async () => {
    const id = await traceOf("math::double");
    const { out } = await system.svc(["traces", id.slice(0, 12).toUpperCase()], {
      outColumns: 80,
      env: { NO_COLOR: "1" },
    });
    const [head, root, child] = out.split("\n");
    expect(head).toMatch(new RegExp(`^trace ${id} {2}[\\d.]+ m?s {2}2 spans$`));
    expect(root).toMatch(/^math::double +math-worker +█+ +[\d.]+ m?s$/);
    expect(child).toMatch(/^└─ math::add +math-worker +█+ +[\d.]+ m?s$/);
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
    expect((await svc("traces", await traceOf("math::broken"))).out).toMatch(/✗ math::broken .*\n +out of numbers\n/);
  });

  it("prints the spans as JSON", async () => {
    const id = await traceOf("math::double");
    expect(JSON.parse((await svc("traces", id, "--json")).out)).toMatchObject({
      trace_id: id,
      total: 2,
      spans: [{ name: "math::double" }, { name: "math::add" }],
    });
  });

  it("lists the matches of an ambiguous id and reports an unknown one", async () => {
    expect(await svc("traces", "")).toMatchObject({ status: EXIT.usage });
    expect(await svc("traces", "0".repeat(32))).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("Trace 000"),
    });
    expect(await svc("traces", "fffffffffff0")).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("not found"),
    });
    // Of 40 traces, some two begin with the same digit.
    for (let calls = 0; calls < 40; calls += 1)
      await tracer.call({ function_id: "math::add", payload: { a: calls, b: 0 } });
    const { traces } = JSON.parse((await svc("traces", "--json", "--limit", "1000")).out) as {
      readonly traces: readonly Row[];
    };
    const firsts = traces.map(({ trace_id }) => trace_id.slice(0, 1));
    const shared = firsts.find((first, index) => firsts.indexOf(first) < index) ?? "";
    expect(await svc("traces", shared)).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining(`${shared} matches several traces`),
    });
  });
});

it("svc logs --follow continues after a restart of the engine", async () => {
  const restarted = await testSystem();
  const bridgePort = Number(new URL(restarted.engine.url).port);
  const { shell, ended } = restarted.started(["logs", "--follow", "--search", "greeting"]);
  const greet = (text: string): Promise<unknown> =>
    restarted.worker.call({ function_id: "engine::log::info", payload: { message: `greeting: ${text}` } });
  await expect.poll(async () => greet("before").then(() => shell.written.out)).toContain("greeting: before");
  await restarted.engine.stop();
  await shell.noted("disconnected from the engine");
  const second = await startTestEngine(restarted.project, { bridgePort });
  await shell.noted("reconnected to the engine");
  await restarted.worker.connected();
  await greet("after");
  await shell.printed("greeting: after");
  shell.stop("SIGINT");
  expect(await ended).toBe(EXIT.done);
  await restarted.worker.shutdown();
  await second.stop();
  restarted.project.remove();
});
