import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../logger.ts";
import { connectStreams } from "../node.ts";
import { type ScriptedConnection, ScriptedStreams } from "./scripted-streams.test.support.ts";
import type { StreamClient } from "./stream-client.ts";
import type { CollectionChange } from "./stream-collection.ts";

const group = { streamName: "todos", groupId: "g" };
let engine: ScriptedStreams;
let client: StreamClient;

beforeEach(async () => {
  engine = await ScriptedStreams.start();
  client = connectStreams({ url: engine.url, logger: silentLogger, reconnect: { initialDelayMs: 5 } });
});

afterEach(async () => {
  await client.close();
  await engine.stop();
});

async function greeted(number = 1, epoch = "first"): Promise<ScriptedConnection> {
  const connection = await engine.connection(number);
  await connection.welcome(epoch);
  return connection;
}

describe("a collection", () => {
  it("contains the present items of a group, after creations, updates, deletions and gaps", async () => {
    const changes: unknown[] = [];
    const items = client.collection<{ n: number }>(group, {
      onChange: (change, all) => changes.push([change.type, [...all.keys()]]),
    });
    const first = await greeted();
    await first.admit(await first.message("join"), 1, [{ n: 1 }, { n: 2 }], { itemIds: ["a", "b"] });
    await items.ready;
    expect([...items.items]).toEqual([
      ["a", { n: 1 }],
      ["b", { n: 2 }],
    ]);
    first.event(["s1"], 2, { type: "create", data: { n: 3 } }, { id: "c" });
    first.event(["s1"], 3, { type: "update", data: { n: 10 } }, { id: "a" });
    first.event(["s1"], 4, { type: "delete", data: { n: 2 } }, { id: "b" });
    first.event(["s1"], 5, { type: "event", event: { type: "cheer", data: null } });
    await expect.poll(() => items.seq).toBe(5);
    expect([...items.items]).toEqual([
      ["a", { n: 10 }],
      ["c", { n: 3 }],
    ]);
    first.socket.terminate();
    const second = await greeted(2, "second");
    await second.message("join");
    second.send({ type: "gap", data: { subscriptionId: "s1", ...group, since: 5, seq: 1, reason: "restarted" } });
    second.event(["s1"], 1, { type: "sync", data: [{ n: 11 }] }, { itemIds: ["a"] });
    await expect.poll(() => items.status).toBe("live");
    expect([...items.items]).toEqual([["a", { n: 11 }]]);
    expect(changes).toEqual([
      ["sync", ["a", "b"]],
      ["create", ["a", "b", "c"]],
      ["update", ["a", "b", "c"]],
      ["delete", ["a", "c"]],
      ["sync", ["a"]],
    ]);
  });

  it("takes the ids from the items if the engine does not send them, from their member `id` or with `idOf`", async () => {
    const errors: string[] = [];
    const byMember = client.collection<{ id?: string }>(group, { onError: ({ message }) => errors.push(message) });
    const reported = client.collection<{ name: string }>(group, { idOf: ({ name }) => name });
    const connection = await greeted();
    await connection.admit(await connection.message("join", 1), 0, [{ id: "a" }, {}, null]);
    await connection.admit(await connection.message("join", 2), 0, [{ name: "x" }]);
    await Promise.all([byMember.ready, reported.ready]);
    expect([...byMember.items.keys()]).toEqual(["a"]);
    expect(errors).toEqual([expect.stringContaining("2 items have no id")]);
    expect([byMember.size, reported.get("x")]).toEqual([1, { name: "x" }]);
  });

  it("calls every listener, even if one throws, until it is removed", async () => {
    const seen: CollectionChange<number>[] = [];
    const items = client.collection<number>(group, {
      onChange: () => {
        throw new Error("the page's own");
      },
    });
    const stop = items.onChange((change) => seen.push(change));
    const connection = await greeted();
    await connection.admit(await connection.message("join"), 0, [1], { itemIds: ["a"] });
    await items.ready;
    connection.event(["s1"], 1, { type: "update", data: 2 }, { id: "a" });
    await expect.poll(() => seen).toEqual([{ type: "sync" }, { type: "update", id: "a", item: 2 }]);
    stop();
    connection.event(["s1"], 2, { type: "update", data: 3 }, { id: "a" });
    await expect.poll(() => items.get("a")).toBe(3);
    expect(seen).toHaveLength(2);
    items.close();
    expect(items.status).toBe("closed");
    expect(items.get("a")).toBe(3);
  });

  it("rejects `ready` if the subscription ends before its items arrive", async () => {
    const closed = client.collection(group);
    closed.close();
    await expect(closed.ready).rejects.toMatchObject({ code: "disconnected" });
    const refused = client.collection(group);
    const connection = await greeted();
    await connection.message("join");
    connection.send({ type: "error", data: { code: "invalid_name", message: "no", subscriptionId: "s2" } });
    await expect(refused.ready).rejects.toMatchObject({ code: "invalid_name" });
  });
});
