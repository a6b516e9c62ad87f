import { startTestEngine, type TestEngine } from "@svc-runtime/engine/test-kit";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { dataOf, type TestConsole, testConsole } from "./running-console.test-support.ts";

interface Listed {
  readonly spans: readonly {
    readonly name: string;
    readonly service_name: string;
    readonly trace: { readonly services: readonly string[] };
  }[];
}

let engine: TestEngine;
let worker: Worker;
beforeAll(async () => {
  engine = await startTestEngine();
  worker = connect(engine.url, { name: "probe", logger: silentLogger, handleSignals: false });
  worker.registerFunction("probe::once", () => "done");
  worker.registerFunction("probe::twice", () => "done");
  await worker.connected();
});
afterAll(async () => {
  await worker?.shutdown();
  await engine?.stop();
});

async function consoleWith(...args: string[]): Promise<TestConsole> {
  const served = await testConsole(engine, args);
  await vi.waitFor(
    async () => dataOf<unknown>(await served.ask("/api/call", { function_id: "engine::info", payload: {} })),
    { timeout: 20_000 },
  );
  return served;
}

const listed = (includeInternal: boolean) =>
  worker.call<Listed>({
    function_id: "engine::traces::list",
    payload: { include_internal: includeInternal, search_all_spans: true },
  });

describe("the console's own traces", () => {
  it("contain a parent span for each call of a page, under its service name; listings omit reads by default", async () => {
    const served = await consoleWith("--otel-service-name", "our-console");
    dataOf<string>(await served.ask("/api/call", { function_id: "probe::once", payload: {} }));
    await vi.waitFor(
      async () => {
        const { spans } = await listed(true);
        expect(spans.find(({ name }) => name === "console probe::once")).toMatchObject({
          service_name: "our-console",
          trace: { services: expect.arrayContaining(["our-console", "probe"]) },
        });
      },
      { timeout: 20_000, interval: 100 },
    );
    // Reads are internal; the call of a worker's function is not.
    expect((await listed(true)).spans.map(({ name }) => name)).toContain("console engine::info");
    expect((await listed(false)).spans.map(({ name }) => name)).toEqual(["console probe::once"]);
    await served.stop();
  });

  it("are not made with --no-otel", async () => {
    const served = await consoleWith("--no-otel", "--otel-service-name", "silent-console");
    dataOf<string>(await served.ask("/api/call", { function_id: "probe::twice", payload: {} }));
    // The last spans are sent before the connection ends.
    await served.stop();
    const { spans } = await listed(true);
    expect(spans.some(({ name }) => name === "probe::twice")).toBe(true);
    expect(spans.filter(({ trace }) => trace.services.includes("silent-console"))).toEqual([]);
  });
});
