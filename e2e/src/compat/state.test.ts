import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import {
  type ClientEvent,
  ClientFailure,
  type ClientProcess,
  publishedClients,
  python11,
} from "./support/published-client.ts";
import { offer, settled, workshop } from "./support/workshop.ts";

// Capabilities 7 as the published clients use it: calls of state::*, triggers of the type `state`, and the clients' own
// types for both.

const { connected } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  // The adapter as published configs write it: its folder does not exist yet.
  const adapter = "{name: kv, config: {store_method: file_based, file_path: ./data/state_store.db}}";
  engine = await startTestEngine(`workers:\n  - name: svc-state\n    config: {adapter: ${adapter}}\n`);
});
afterAll(() => engine.stop());

describe.each(publishedClients)("state for $name", (client) => {
  const scope = `compat ${client.program}`;
  let worker: ClientProcess;
  beforeAll(async () => {
    worker = await connected(client, engine.address);
  });

  const call = (name: string, payload: Readonly<Record<string, unknown>>): Promise<unknown> =>
    worker.run("trigger", { function_id: `state::${name}`, payload });

  it("set returns the old and the new value, get the value, delete the old value, each returns nothing if the item does not exist", async () => {
    expect(await call("set", { scope, key: "a", value: { n: 1 } })).toEqual({ old_value: null, new_value: { n: 1 } });
    expect(await call("set", { scope, key: "a", data: [2] })).toEqual({ old_value: { n: 1 }, new_value: [2] });
    expect(await call("get", { scope, key: "a" })).toEqual([2]);
    expect(await call("delete", { scope, key: "a" })).toEqual([2]);
    expect(await call("get", { scope, key: "a" })).toBeUndefined();
    expect(await call("delete", { scope, key: "a" })).toBeUndefined();
  });

  it("list returns the values and list_groups the scopes", async () => {
    const listed = `${scope} listed`;
    for (const key of ["b", "a"]) await call("set", { scope: listed, key, value: { key } });
    expect(await call("list", { scope: listed })).toEqual([{ key: "a" }, { key: "b" }]);
    expect(await call("list", { scope: `${scope} empty` })).toEqual([]);
    const { groups } = (await call("list_groups", {})) as { readonly groups: readonly string[] };
    expect(groups).toContain(listed);
    expect(groups).toEqual([...groups].sort());
  });

  it("a void call writes", async () => {
    await worker.run("trigger", {
      function_id: "state::set",
      payload: { scope, key: "void", value: 1 },
      action: { type: "void" },
    });
    await settled(worker);
    expect(await call("get", { scope, key: "void" })).toBe(1);
  });

  it("the six operations of update work as their names say", async () => {
    const update = (ops: readonly unknown[]): Promise<unknown> => call("update", { scope, key: "ops", ops });
    expect(await update([{ type: "set", path: "n", value: 1 }])).toEqual({ old_value: null, new_value: { n: 1 } });
    expect(
      await update([
        { type: "increment", path: "n", by: 5 },
        { type: "decrement", path: "n", by: 2 },
        { type: "append", path: "list", value: 7 },
        { type: "append", path: "text", value: "x" },
        { type: "append", path: "text", value: "y" },
        { type: "merge", path: "", value: { more: true } },
        { type: "merge", path: ["deep", "er"], value: { a: 1 } },
        { type: "set", path: "a.b", value: null },
        { type: "remove", path: "more" },
      ]),
    ).toMatchObject({
      old_value: { n: 1 },
      new_value: { n: 4, list: [7], text: "xy", deep: { er: { a: 1 } }, "a.b": null },
    });
    const refused = await update([{ type: "increment", path: "list", by: 1 }]);
    const [error] = (refused as { readonly errors: readonly unknown[] }).errors;
    expect(error).toEqual({
      op_index: 0,
      code: "increment.not_number",
      message: "Expected number at path 'list', got array.",
    });
  });

  it("an invalid payload fails the call", async () => {
    const failure = await call("set", { scope }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ClientFailure);
    expect((failure as ClientFailure).error).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("key"),
    });
  });

  it("a trigger calls its function with the payload of the client's types, after its condition returned true", async () => {
    const watched = `${scope} watched`;
    const id = await offer(worker, `on-state::${client.program}`, { kind: "echo" });
    const condition = await offer(worker, `on-state-if::${client.program}`, { kind: "value", value: true });
    const config = { scope: watched, condition_function_id: condition };
    const handle = await worker.run("registerTrigger", { type: "state", function_id: id, config });
    await settled(worker);
    await call("set", { scope: watched, key: "k", value: 1 });
    await call("set", { scope: `${watched} not`, key: "k", value: 1 });
    await call("set", { scope: watched, key: "k", value: { n: 2 } });
    await call("delete", { scope: watched, key: "k" });

    const called = async (): Promise<ClientEvent["data"]> =>
      (await worker.next((seen) => seen.function === id, "the trigger fires")).data;
    const events = [await called(), await called(), await called()];
    const { Created, Updated, Deleted } = await worker.run<Readonly<Record<string, string>>>("stateEventTypes");
    const shared = { type: "state", scope: watched, key: "k" };
    expect(events).toMatchObject([
      { ...shared, event_type: Created, old_value: null, new_value: 1 },
      { ...shared, event_type: Updated, old_value: 1, new_value: { n: 2 } },
      { ...shared, event_type: Deleted, old_value: { n: 2 }, new_value: null },
    ]);
    // Condition functions receive the same payload.
    expect((await worker.next((seen) => seen.function === condition, "the condition is asked")).data).toEqual(
      events[0],
    );

    await worker.run("unregisterTrigger", { handle });
    await settled(worker);
    await call("set", { scope: watched, key: "k", value: 3 });
    await settled(worker);
    expect(worker.events().filter((seen) => seen.function === id)).toEqual([]);
  });
});

describe("the types of iii-sdk 0.11.6 (Python) for state", () => {
  let worker: ClientProcess;
  beforeEach(async () => {
    worker = await connected(python11, engine.address);
  });

  const call = (name: string, payload: unknown): Promise<unknown> =>
    worker.run("trigger", { function_id: `state::${name}`, payload });
  /** The value as converted by the client's own type. Rejects if it does not match. */
  const model = (name: string, value: unknown): Promise<unknown> => worker.run("model", { name, value });

  it("are accepted as they are encoded: operations with null for missing values too", async () => {
    const address = { scope: "models", key: "k" };
    await call("set", await model("StateSetInput", { ...address, value: {} }));
    const ops = await Promise.all([
      model("UpdateSet", { path: "n", value: 1 }),
      model("UpdateIncrement", { path: "n", by: 2 }),
      model("UpdateDecrement", { path: "n", by: 1 }),
      model("UpdateAppend", { path: "list", value: 7 }),
      model("UpdateMerge", { value: { gone: 1, more: true } }),
      model("UpdateRemove", { path: "gone" }),
    ]);
    const answer = await call("update", await model("StateUpdateInput", { ...address, ops }));
    expect(answer).toMatchObject({ new_value: { n: 2, list: [7], more: true } });
    expect(await call("get", await model("StateGetInput", address))).toEqual({ n: 2, list: [7], more: true });
    expect(await call("list", await model("StateListInput", { scope: "models" }))).toHaveLength(1);
    expect(await call("delete", await model("StateDeleteInput", address))).toEqual({ n: 2, list: [7], more: true });
  });

  it("accept the results", async () => {
    const address = { scope: "answers", key: "k" };
    expect(await model("StateSetResult", await call("set", { ...address, value: 1 }))).toEqual({
      old_value: null,
      new_value: 1,
    });
    const updated = await call("update", { ...address, ops: [{ type: "increment", path: "", by: 1 }] });
    expect(await model("StateUpdateResult", updated)).toMatchObject({ old_value: 1, new_value: 2 });
    const id = await offer(worker, "on-state::model", { kind: "nothing" });
    await worker.run("registerTrigger", { type: "state", function_id: id, config: { scope: "answers" } });
    await settled(worker);
    await call("delete", address);
    const { data } = await worker.next((seen) => seen.function === id, "the trigger fires");
    expect(await model("StateEventData", data)).toEqual({
      ...{ type: "state", event_type: "state:deleted" },
      ...address,
      old_value: 2,
      new_value: null,
    });
  });
});
