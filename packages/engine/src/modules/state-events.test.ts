import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { accessTo, bindTrigger, Collected, type InMemoryEngine, inMemoryEngine } from "../testing/index.ts";
import { event } from "./event/index.ts";
import { state } from "./state/index.ts";

const stateEntry = (more: object = {}) => ({ name: "svc-state", config: { adapter: { name: "in_memory" }, ...more } });
const eventEntry = { name: "svc-event", config: {} };

let engine: InMemoryEngine;
beforeEach(async () => {
  engine = await inMemoryEngine({ modules: [state, event], config: {} });
  expect(await engine.applyModules([stateEntry(), eventEntry])).toEqual([]);
});
afterEach(() => engine.stop());

interface StateEvent {
  readonly event_type: string;
  readonly key: string;
  readonly old_value: unknown;
  readonly new_value: unknown;
}

async function listen(
  topic: string,
  { type = "event", access = undefined as ReturnType<typeof accessTo> | undefined } = {},
) {
  const told = new Collected<StateEvent>();
  const worker = await engine.connectWorker(access === undefined ? {} : { access });
  const id = `guest::${crypto.randomUUID()}`;
  worker.serve(id, (data) => told.add(data as StateEvent));
  const trigger = await bindTrigger(worker, type, id, { topic });
  return { told, worker, trigger };
}

const set = (key: string, value: unknown): Promise<unknown> => engine.call("state::set", { scope: "s", key, value });
const bridges = () => engine.directory.triggers().filter(({ function_id }) => function_id.startsWith("engine::event"));
const bridged = () => bridges().map(({ trigger_type }) => trigger_type);

/** Resolves when these triggers on state are there. */
async function untilBridged(types: readonly string[]): Promise<void> {
  while (bridged().join() !== types.join()) {
    await new Promise<void>((resolve) => {
      const undo = engine.directory.onChange(() => {
        undo();
        resolve();
      });
    });
  }
}

describe("a change of state", () => {
  it("is an event of the topic state:created, state:updated or state:deleted, with the data that a state trigger gets", async () => {
    const created = await listen("state:created");
    const updated = await listen("state:updated", { type: "subscribe" });
    const all = await listen("state:*");
    await set("k", 1);
    await set("k", 2);
    await engine.call("state::delete", { scope: "s", key: "k" });
    expect(await created.told.count(1)).toEqual([
      expect.objectContaining({
        type: "state",
        event_type: "state:created",
        scope: "s",
        key: "k",
        old_value: null,
        new_value: 1,
        version: 1,
      }),
    ]);
    expect(await updated.told.count(1)).toEqual([
      expect.objectContaining({ event_type: "state:updated", old_value: 1, new_value: 2 }),
    ]);
    expect((await all.told.count(3)).map(({ event_type }) => event_type)).toEqual([
      "state:created",
      "state:updated",
      "state:deleted",
    ]);
  });

  it("costs nothing while nobody listens, and the engine lets go when nobody does any more", async () => {
    expect(bridged()).toEqual([]);
    const other = await listen("orders.*");
    expect(bridged()).toEqual([]);
    const { worker, trigger } = await listen("state:updated");
    await listen("state:created").then((listening) =>
      listening.worker.say({ type: "unregistertrigger", id: listening.trigger }),
    );
    await untilBridged(["state:updated"]);
    worker.say({ type: "unregistertrigger", id: trigger });
    await untilBridged([]);
    expect(other.told.items).toEqual([]);
  });

  it("is told of also when svc-state comes later, or restarts, and when somebody takes the engine's trigger away", async () => {
    await engine.applyModules([eventEntry]);
    const { told } = await listen("state:created");
    await engine.applyModules([eventEntry, stateEntry()]);
    await set("a", 1);
    await told.count(1);
    await engine.applyModules([eventEntry, stateEntry({ adapter: { name: "file_based" } })]);
    await set("b", 1);
    await told.count(2);
    const [bridge] = bridges();
    expect(engine.kernel.unownedTriggers.remove(bridge?.id ?? "", undefined)).toBe(true);
    await untilBridged(["state:created"]);
    expect(bridges()[0]?.id).not.toBe(bridge?.id);
    await set("c", 1);
    expect((await told.count(3)).map(({ key }) => key)).toEqual(["a", "b", "c"]);
  });

  it("is told of again when svc-event has been away", async () => {
    const { told } = await listen("state:created");
    await engine.applyModules([stateEntry()]);
    expect(bridged()).toEqual([]);
    await set("unheard", 1);
    await engine.applyModules([stateEntry(), eventEntry]);
    await set("heard", 1);
    expect((await told.count(1)).map(({ key }) => key)).toEqual(["heard"]);
  });

  it("keeps every digit", async () => {
    const worker = await engine.connectWorker();
    worker.say({ type: "registerfunction", id: "raw" });
    await bindTrigger(worker, "event", "raw", { topic: "state:created" });
    const { told } = await listen("state:created");
    worker.send(
      '{"type":"invokefunction","function_id":"state::set","data":{"scope":"s","key":"big","value":9007199254740993}}',
    );
    await told.count(1);
    worker.say({ type: "ping" });
    await worker.next(({ type }) => type === "pong");
    const frame = worker.received.find((text) => text.includes("state:created"));
    expect(frame).toContain('"new_value":9007199254740993');
  });

  it("is not told to a restricted connection that may not read state, whatever the pattern", async () => {
    const guest = await listen("**", { access: accessTo(["publish"]) });
    const reader = await listen("**", { access: accessTo(["publish", "state::get"]) });
    await set("k", 1);
    expect((await reader.told.count(1)).map(({ key }) => key)).toEqual(["k"]);
    await engine.call("publish", { topic: "t", data: { event_type: "mine" } });
    expect((await guest.told.count(1)).map(({ event_type }) => event_type)).toEqual(["mine"]);
  });

  it("cannot be made up by calling the engine's own function", async () => {
    const worker = await engine.connectWorker();
    await listen("state:created");
    const answer = await worker.call("engine::event::state_changed", {
      event_type: "state:created",
      scope: "s",
      key: "k",
    });
    expect(answer.error).toMatchObject({ code: "FORBIDDEN" });
  });

  it("that a listener causes by its own writes is a loop like that of a state trigger, and ends", async () => {
    const worker = await engine.connectWorker();
    const refused = new Collected<unknown>();
    worker.serve("again", async (data, frame) => {
      const { new_value } = data as { new_value: number };
      const answer = await worker.call(
        "state::set",
        { scope: "s", key: "loop", value: new_value + 1 },
        { traceparent: frame.traceparent as string },
      );
      if (answer.error != null) refused.add(answer.error);
    });
    await bindTrigger(worker, "event", "again", { topic: "state:updated" });
    await set("loop", 1);
    await set("loop", 2);
    expect(await refused.count(1)).toEqual([expect.objectContaining({ code: "trigger_loop" })]);
  });
});
