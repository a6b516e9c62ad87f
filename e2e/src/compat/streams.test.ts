import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { joinStreams, type PlainStreamClient } from "./support/plain-stream-client.ts";
import { type ClientEvent, type ClientProcess, publishedClients, python11 } from "./support/published-client.ts";
import { offer, settled, workshop } from "./support/workshop.ts";

// Capabilities 8 as the published clients use it: calls of stream::*, the three trigger types, their own storage, and
// the client protocol of 8.3.

const { connected } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine("workers:\n  - name: svc-stream\n");
});
afterAll(() => engine.stop());

const joined: PlainStreamClient[] = [];
async function streams(): Promise<PlainStreamClient> {
  const client = await joinStreams(engine.streams);
  joined.push(client);
  return client;
}
afterEach(async () => {
  await Promise.all(joined.splice(0).map((client) => client.close()));
});

/** Exactly the members of 8.3, without svc's own. */
const message = (streamName: string, groupId: string, id: string | null, event: unknown): unknown => ({
  type: "stream",
  timestamp: expect.any(Number),
  streamName,
  groupId,
  id,
  event,
});

describe.each(publishedClients)("streams for $name", (client) => {
  const name = `compat-${client.program}`;
  let worker: ClientProcess;
  beforeEach(async () => {
    worker = await connected(client, engine.address);
  });

  const call = (function_: string, payload: Readonly<Record<string, unknown>>): Promise<unknown> =>
    worker.run("trigger", { function_id: `stream::${function_}`, payload });

  it("the functions return the published forms", async () => {
    const group = { stream_name: `${name}-shapes`, group_id: "g" };
    const item = { ...group, item_id: "i" };
    expect(await call("set", { ...item, data: { n: 1 } })).toEqual({ old_value: null, new_value: { n: 1 } });
    expect(await call("update", { ...item, ops: [{ type: "increment", path: "n", by: 1 }] })).toEqual({
      old_value: { n: 1 },
      new_value: { n: 2 },
    });
    expect(await call("get", item)).toEqual({ n: 2 });
    expect(await call("get", { ...item, item_id: "no" })).toBeUndefined();
    expect(await call("list", group)).toEqual([{ n: 2 }]);
    expect(await call("list_groups", { stream_name: group.stream_name })).toEqual(["g"]);
    const all = (await call("list_all", {})) as { readonly stream: readonly unknown[]; readonly count: number };
    expect(all.stream).toContainEqual({ id: group.stream_name, groups: ["g"] });
    expect(all.count).toBe(all.stream.length);
    expect(await call("send", { ...group, type: "typing", data: {} })).toBeUndefined();
    expect(await call("delete", item)).toEqual({ old_value: { n: 2 } });
    expect(await call("delete", item)).toEqual({ old_value: null });
    expect(await call("list_groups", { stream_name: group.stream_name })).toEqual([]);
  });

  it("a client that joined receives a sync and then each event, exactly as published", async () => {
    const [streamName, groupId] = [`${name}-joined`, "g"];
    const item = (item_id: string) => ({ stream_name: streamName, group_id: groupId, item_id });
    await call("set", { ...item("a"), data: 1 });
    const all = await streams();
    const one = await streams();
    all.join({ subscriptionId: "s1", streamName, groupId });
    expect(await all.next()).toEqual(message(streamName, groupId, null, { type: "sync", data: [1] }));
    one.say({ type: "join", data: { subscriptionId: "s2", streamName, groupId, id: "b" } }, { binary: true });
    expect(await one.next()).toEqual(message(streamName, groupId, "b", { type: "sync", data: null }));

    await call("set", { ...item("b"), data: { n: 1 } });
    await call("set", { ...item("b"), data: { n: 2 } });
    await call("send", { stream_name: streamName, group_id: groupId, type: "typing", data: { who: "ada" } });
    await call("send", { stream_name: streamName, group_id: groupId, id: "b", type: "seen", data: null });
    await call("delete", item("b"));
    const events = [
      message(streamName, groupId, "b", { type: "create", data: { n: 1 } }),
      message(streamName, groupId, "b", { type: "update", data: { n: 2 } }),
      message(streamName, groupId, null, { type: "event", event: { type: "typing", data: { who: "ada" } } }),
      message(streamName, groupId, "b", { type: "event", event: { type: "seen", data: null } }),
      message(streamName, groupId, "b", { type: "delete", data: { n: 2 } }),
    ];
    for (const event of events) expect(await all.next()).toEqual(event);
    // Messages without an item reach only the subscribers of the group.
    for (const event of events.filter((_, at) => at !== 2)) expect(await one.next()).toEqual(event);

    // One message per matching subscription, until one is left.
    all.join({ subscriptionId: "s3", streamName, groupId, id: "a" });
    expect(await all.next()).toEqual(message(streamName, groupId, "a", { type: "sync", data: 1 }));
    await call("set", { ...item("a"), data: 2 });
    const update = message(streamName, groupId, "a", { type: "update", data: 2 });
    expect([await all.next(), await all.next()]).toEqual([update, update]);
    all.leave({ subscriptionId: "s1", streamName, groupId });
    all.leave({ subscriptionId: "never joined", streamName, groupId });
    all.say({ type: "nonsense" });
    await all.settled();
    await call("set", { ...item("a"), data: 3 });
    expect(await all.next()).toEqual(message(streamName, groupId, "a", { type: "update", data: 3 }));
    await all.settled();
    expect([all.waiting, one.waiting]).toEqual([[], []]);
  });

  it("triggers of the three types call their functions with the published payloads; a join handler may reject", async () => {
    const streamName = `${name}-triggers`;
    const on = (what: string): string => `on-${what}::${client.program}`;
    await offer(worker, on("item"), { kind: "nothing" });
    await offer(worker, on("join"), { kind: "value", value: { unauthorized: false } });
    await offer(worker, on("leave"), { kind: "nothing" });
    await offer(worker, on("refusal"), { kind: "value", value: { unauthorized: true } });
    const bindings = [
      { type: "stream", function_id: on("item"), config: { stream_name: streamName, group_id: "g" } },
      { type: "stream:join", function_id: on("join"), config: { stream_name: streamName } },
      { type: "stream:leave", function_id: on("leave"), config: { stream_name: streamName } },
      { type: "stream:join", function_id: on("refusal"), config: { stream_name: `${streamName}-secret` } },
    ];
    for (const binding of bindings) await worker.run("registerTrigger", binding);
    await settled(worker);

    const page = await streams();
    page.join({ subscriptionId: "s1", streamName: `${streamName}-secret`, groupId: "g" });
    expect(await page.next()).toEqual(message(`${streamName}-secret`, "g", null, { type: "unauthorized" }));
    page.join({ subscriptionId: "s2", streamName, groupId: "g", id: "i" });
    expect(await page.next()).toEqual(message(streamName, "g", "i", { type: "sync", data: null }));
    await call("set", { stream_name: streamName, group_id: "g", item_id: "i", data: [1] });
    await call("set", { stream_name: streamName, group_id: "other", item_id: "i", data: [1] });
    await call("delete", { stream_name: streamName, group_id: "g", item_id: "i" });
    await page.close();

    const called = async (what: string): Promise<ClientEvent["data"]> =>
      (await worker.next((seen) => seen.function === on(what), `${on(what)} is called`)).data;
    const told = { subscription_id: "s2", stream_name: streamName, group_id: "g", id: "i", context: null };
    expect(await called("join")).toEqual(told);
    expect(await called("leave")).toEqual(told);
    // The published members, and version and sequence number.
    expect(await called("item")).toMatchObject(message(streamName, "g", "i", { type: "create", data: [1] }) as object);
    expect(await called("item")).toMatchObject(message(streamName, "g", "i", { type: "delete", data: [1] }) as object);
    expect(await called("refusal")).toEqual({
      subscription_id: "s1",
      stream_name: `${streamName}-secret`,
      group_id: "g",
      id: null,
      context: null,
    });
  });

  it("a stream that the client stores itself (createStream) replaces the engine's storage, for joins too", async () => {
    const streamName = `${name}-own`;
    const group = { stream_name: streamName, group_id: "g" };
    await worker.run("createStream", { name: streamName });
    await settled(worker);
    const kept = async (method: string): Promise<unknown> =>
      (await worker.next((seen) => seen.event === "kept" && seen.function === method, `${method} is called`)).data;

    expect(await call("set", { ...group, item_id: "i", data: { n: 1 } })).toMatchObject({
      old_value: null,
      new_value: { n: 1 },
    });
    expect(await kept("set")).toMatchObject({ ...group, item_id: "i", data: { n: 1 } });
    const page = await streams();
    page.join({ subscriptionId: "s", streamName, groupId: "g" });
    expect(await page.next()).toEqual(message(streamName, "g", null, { type: "sync", data: [{ n: 1 }] }));
    expect(await kept("list")).toMatchObject(group);
    expect(await call("set", { ...group, item_id: "i", data: 2 })).toMatchObject({ old_value: { n: 1 }, new_value: 2 });
    expect(await page.next()).toEqual(message(streamName, "g", "i", { type: "update", data: 2 }));
    expect(await call("get", { ...group, item_id: "i" })).toBe(2);
    expect(await kept("get")).toMatchObject({ ...group, item_id: "i" });
    expect(await call("list", group)).toEqual([2]);
    expect(await call("list_groups", { stream_name: streamName })).toEqual(["g"]);
    expect(await call("delete", { ...group, item_id: "i" })).toMatchObject({ old_value: 2 });
    expect(await page.next()).toEqual(message(streamName, "g", "i", { type: "delete", data: 2 }));
  });
});

describe("the types of iii-sdk 0.11.6 (Python) for streams", () => {
  it("are accepted as they are encoded, and accept the results", async () => {
    const worker = await connected(python11, engine.address);
    const model = (name: string, value: unknown): Promise<unknown> => worker.run("model", { name, value });
    const call = async (function_: string, payload: Promise<unknown>): Promise<unknown> =>
      worker.run("trigger", { function_id: `stream::${function_}`, payload: await payload });
    const group = { stream_name: "models", group_id: "g" };
    const item = { ...group, item_id: "i" };

    const joinConfig = await model("StreamJoinLeaveTriggerConfig", {});
    const config = await model("StreamTriggerConfig", { stream_name: "models" });
    for (const what of ["item", "join"]) await offer(worker, `on-model::${what}`, { kind: "nothing" });
    await worker.run("registerTrigger", { type: "stream", function_id: "on-model::item", config });
    await worker.run("registerTrigger", { type: "stream:join", function_id: "on-model::join", config: joinConfig });
    await settled(worker);
    const page = await streams();
    page.join({ subscriptionId: "s", streamName: "models", groupId: "g" });
    expect(await page.next()).toEqual(message("models", "g", null, { type: "sync", data: [] }));

    expect(await model("StreamSetResult", await call("set", model("StreamSetInput", { ...item, data: {} })))).toEqual({
      old_value: null,
      new_value: {},
    });
    const ops = [await model("UpdateMerge", { value: { a: 1 } })];
    const updated = await call("update", model("StreamUpdateInput", { ...item, ops }));
    expect(await model("StreamUpdateResult", updated)).toEqual({ old_value: {}, new_value: { a: 1 }, errors: [] });
    expect(await call("get", model("StreamGetInput", item))).toEqual({ a: 1 });
    expect(await call("list", model("StreamListInput", group))).toEqual([{ a: 1 }]);
    expect(await call("list_groups", model("StreamListGroupsInput", { stream_name: "models" }))).toEqual(["g"]);
    expect(await model("StreamDeleteResult", await call("delete", model("StreamDeleteInput", item)))).toEqual({
      old_value: { a: 1 },
    });

    const called = async (what: string): Promise<unknown> =>
      (await worker.next((seen) => seen.function === `on-model::${what}`, `${what} is called`)).data;
    expect(await model("StreamJoinLeaveEvent", await called("join"))).toEqual({
      subscription_id: "s",
      ...group,
      id: null,
      context: null,
    });
    for (const event of [
      { type: "create", data: {} },
      { type: "update", data: { a: 1 } },
      { type: "delete", data: { a: 1 } },
    ]) {
      expect(await model("StreamChangeEvent", await called("item"))).toEqual(message("models", "g", "i", event));
    }
  });
});
