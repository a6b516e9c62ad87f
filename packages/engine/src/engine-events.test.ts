import { afterEach, describe, expect, it } from "vitest";
import { event } from "./modules/event/index.ts";
import { state } from "./modules/state/index.ts";
import { bindTrigger, Collected, type InMemoryEngine, inMemoryEngine } from "./testing/index.ts";

const IN_MEMORY = { adapter: { name: "in_memory" } };
let engine: InMemoryEngine;
afterEach(() => engine.stop());

async function start(): Promise<void> {
  engine = await inMemoryEngine({ modules: [event, state], config: { "svc-event": {}, "svc-state": IN_MEMORY } });
}

/** Triggers of svc-event and svc-state. */
const republished = (): string[] =>
  engine.directory
    .triggers()
    .filter(({ function_id }) => function_id === "engine::event::state_changed")
    .map(({ trigger_type }) => trigger_type)
    .sort();

describe("changes of state as events", () => {
  it("come by name and by pattern in the order of the changes, only while somebody listens", async () => {
    await start();
    expect(republished()).toEqual([]);
    const worker = await engine.connectWorker();
    const [all, updates] = [new Collected<unknown>(), new Collected<unknown>()];
    worker.serve("all", (data) => void all.add((data as { readonly event_type: string }).event_type));
    worker.serve("updates", (data) => void updates.add(data));
    const first = await bindTrigger(worker, "event", "all", { topic: "state:*" });
    const second = await bindTrigger(worker, "event", "updates", { topic: "state:updated" });
    expect(republished()).toEqual(["state:created", "state:deleted", "state:updated"]);
    await engine.call("state::set", { scope: "s", key: "k", value: 1 });
    await engine.call("state::set", { scope: "s", key: "k", value: 2 });
    await engine.call("state::delete", { scope: "s", key: "k" });
    expect(await all.count(3)).toEqual(["state:created", "state:updated", "state:deleted"]);
    expect(await updates.count(1)).toMatchObject([{ scope: "s", key: "k", old_value: 1, new_value: 2 }]);

    const gone = async (id: string): Promise<void> => {
      worker.say({ type: "unregistertrigger", id, trigger_type: "event" });
      worker.say({ type: "ping" });
      await worker.next((frame) => frame.type === "pong");
    };
    await gone(first);
    await expect.poll(republished).toEqual(["state:updated"]);
    await gone(second);
    await expect.poll(republished).toEqual([]);
  });

  it("come again after svc-state restarted, and from one that is loaded later", async () => {
    engine = await inMemoryEngine({ modules: [event, state], config: { "svc-event": {} } });
    const worker = await engine.connectWorker();
    const told = new Collected<unknown>();
    worker.serve("told", (data) => void told.add((data as { readonly key: string }).key));
    await bindTrigger(worker, "event", "told", { topic: "state:created" });
    const modules = (more: readonly { readonly name: string; readonly config: unknown }[]) =>
      engine.applyModules([{ name: "svc-event", config: {} }, ...more]);
    for (const key of ["later", "anew"]) {
      await modules([{ name: "svc-state", config: IN_MEMORY }]);
      await engine.call("state::set", { scope: "s", key, value: 1 });
      await told.until((keys) => keys.includes(key));
      await modules([]);
    }
    expect(told.items).toEqual(["later", "anew"]);
  });

  it("that cause each other without end are stopped by their trace, like state triggers (S-3)", async () => {
    await start();
    const worker = await engine.connectWorker();
    const answers: Record<string, unknown>[] = [];
    const update = async (traceparent: unknown): Promise<unknown> => {
      const ops = [{ type: "increment", path: "n", by: 1 }];
      return answers.push(
        await worker.call(
          "state::update",
          { scope: "s", key: "k", ops },
          traceparent === undefined ? {} : { traceparent },
        ),
      );
    };
    worker.serve("again", (_data, frame) => void update(frame.traceparent));
    await bindTrigger(worker, "event", "again", { topic: "state:**" });
    await update(undefined);
    await expect.poll(() => answers.some(({ error }) => error !== null)).toBe(true);
    expect(answers.at(-1)).toMatchObject({ error: { code: "trigger_loop" } });
    expect(answers.length).toBeLessThan(20);
  });
});
