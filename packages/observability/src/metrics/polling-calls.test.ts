import { defineModule } from "@svc-runtime/engine/module";
import { inMemoryEngine, manualClock } from "@svc-runtime/engine/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import observability, { OBSERVABILITY } from "../index.ts";

const waiter = defineModule({
  name: "svc-waiter",
  summary: "Has a function that waits",
  config: z.object({}),
  start(context) {
    const input = z.object({}).optional();
    context.provideFunction({ id: "wait::next", summary: "Waits", polled: true, input, handle: () => "next" });
    context.provideFunction({ id: "wait::list", summary: "Lists", input, handle: () => [] });
    return { stop: () => {} };
  },
});

test("calls with which a tool keeps up to date are in no metrics, those of a worker are", async () => {
  const clock = manualClock();
  const engine = await inMemoryEngine({
    modules: [observability, waiter],
    config: { [OBSERVABILITY]: {}, "svc-waiter": {} },
    clock,
  });
  const counted = async (): Promise<Readonly<Record<string, number>>> => {
    clock.advance(5_000);
    const { functions } = (await engine.call("engine::metrics::functions", { window_seconds: 60 })) as {
      readonly functions: readonly { readonly function_id: string; readonly calls: number }[];
    };
    const waits = functions.filter(({ function_id }) => function_id.startsWith("wait::"));
    return Object.fromEntries(waits.map(({ function_id, calls }) => [function_id, calls]));
  };
  for (const kind of ["cli", "console"]) {
    const tool = await engine.connectWorker({ name: "svc dev", kind });
    expect((await tool.call("wait::next")).result).toBe("next");
    await tool.call("wait::list");
  }
  expect(await counted()).toEqual({ "wait::list": 2 });
  const worker = await engine.connectWorker({ name: "shop" });
  await worker.call("wait::next");
  expect(await counted()).toEqual({ "wait::list": 2, "wait::next": 1 });
  await engine.stop();
});
