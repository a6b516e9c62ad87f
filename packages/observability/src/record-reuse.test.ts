import { type InMemoryEngine, inMemoryEngine } from "@svc-runtime/engine/testing";
import { afterEach, expect, test } from "vitest";
import observability from "./index.ts";

let engine: InMemoryEngine;
afterEach(() => engine.stop());

interface Listed {
  readonly spans: readonly {
    readonly trace_id: string;
    readonly name: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
}
interface Invocation {
  readonly invocation_id: string;
  readonly trace_id: string;
  readonly status: string;
  readonly input: { readonly json: string };
  readonly output: { readonly json: string } | null;
}

test("records that are used again tell of the last call only, in traces and in the history, while others are kept longer", async () => {
  engine = await inMemoryEngine({
    modules: [observability],
    config: {
      "svc-observability": {
        ...{ memory_max_spans: 40, invocations_max_count: 12, redact_keys: [] },
        trace_storage: { enabled: false },
      },
    },
  });
  const worker = await engine.connectWorker({ name: "work" });
  worker.serve("work::echo", (data) => data);
  worker.serve("work::break", (data) => {
    throw new Error(`broken ${JSON.stringify(data)}`);
  });
  await worker.call("engine::none");
  const caller = await engine.connectWorker({ name: "caller" });
  for (let round = 0; round < 60; round++) {
    const calls = [1, 2, 3, 4, 5].map((call) => {
      const payload = { round, call, text: "x".repeat((round * 37 + call * 400) % 3_000) };
      return caller.call(call === 3 && round % 7 === 0 ? "work::break" : "work::echo", payload);
    });
    const listing = engine.call("engine::traces::list", { limit: 20 });
    await Promise.all([...calls, listing]);
  }
  const { invocations } = (await engine.call("engine::invocations::list", {})) as {
    readonly invocations: readonly { readonly invocation_id: string }[];
  };
  expect(invocations).toHaveLength(12);
  const seen = new Set<string>();
  for (const { invocation_id } of invocations) {
    const one = (await engine.call("engine::invocations::get", { invocation_id })) as Invocation;
    seen.add(one.input.json);
    expect(one.output?.json ?? "failed").toBe(one.status === "ok" ? one.input.json : "failed");
    const { spans } = (await engine.call("engine::traces::list", {
      trace_id: one.trace_id,
      include_internal: true,
    })) as Listed;
    for (const span of spans) expect(span.trace_id).toBe(one.trace_id);
  }
  expect(seen.size).toBe(12);
});
