import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeEngine } from "../fake-engine.test.support.ts";
import { silentLogger } from "../logger.ts";
import { connect } from "../node.ts";
import type { Worker } from "../worker.ts";

let engine: FakeEngine;
let worker: Worker;
let asked: unknown[];

beforeEach(async () => {
  asked = [];
  engine = await FakeEngine.start();
  engine.reply = ({ type, invocation_id, function_id, data }) => {
    if (type !== "invokefunction" || invocation_id === undefined) return undefined;
    asked.push([function_id, data]);
    const result = function_id === "stream::entries" ? { items: [{ item_id: "i" }], cursor: null, total: 1 } : null;
    return { type: "invocationresult", invocation_id, function_id, result };
  };
  worker = connect(engine.address, { logger: silentLogger, handleSignals: false });
  await worker.connected();
});

afterEach(async () => {
  await worker.shutdown({ timeoutMs: 1 });
  await engine.stop();
});

const item = { stream_name: "s", group_id: "g", item_id: "i" };
const expected = [
  ["stream::set", { ...item, if_version: 1, expires_in_ms: 5, data: { a: 1 } }],
  ["stream::get", item],
  ["stream::get_entry", item],
  ["stream::update", { ...item, ops: [{ type: "remove", path: "a" }], atomic: false }],
  ["stream::delete", { ...item, if_version: 2 }],
  ["stream::send", { stream_name: "s", group_id: "g", id: "i", type: "cheer", data: 1 }],
  ["stream::send", { stream_name: "s", group_id: "g", type: "cheer", data: null }],
  ["stream::list", { stream_name: "s", group_id: "g" }],
  ["stream::entries", { stream_name: "s", group_id: "g", prefix: "p", limit: 2 }],
];

it("worker.stream calls the functions of the same names with the wire's members", async () => {
  const { stream } = worker;
  await stream.set("s", "g", "i", { a: 1 }, { ifVersion: 1, expiresInMs: 5 });
  await stream.get("s", "g", "i");
  await stream.getEntry("s", "g", "i");
  await stream.update("s", "g", "i", [{ type: "remove", path: "a" }], { atomic: false });
  await stream.delete("s", "g", "i", { ifVersion: 2 });
  await stream.send("s", "g", { id: "i", type: "cheer", data: 1 });
  await stream.send("s", "g", { type: "cheer", data: null });
  await stream.list("s", "g");
  for await (const { itemId } of stream.entries("s", "g", { prefix: "p", pageSize: 2 })) expect(itemId).toBe("i");
  await stream.listGroups("s");
  await stream.listAll();
  expect(asked).toEqual([...expected, ["stream::list_groups", { stream_name: "s" }], ["stream::list_all", {}]]);
});

it("a group makes the same calls with its stream and group", async () => {
  const group = worker.stream.group<{ a: number }>("s", "g");
  await group.set("i", { a: 1 }, { ifVersion: 1, expiresInMs: 5 });
  await group.get("i");
  await group.getEntry("i");
  await group.update("i", [{ type: "remove", path: "a" }], { atomic: false });
  await group.delete("i", { ifVersion: 2 });
  await group.send({ id: "i", type: "cheer", data: 1 });
  await group.send({ type: "cheer", data: null });
  await group.list();
  for await (const { itemId } of group.entries({ prefix: "p", pageSize: 2 })) expect(itemId).toBe("i");
  await group.entriesPage({ limit: 3 });
  expect(asked).toEqual([...expected, ["stream::entries", { stream_name: "s", group_id: "g", limit: 3 }]]);
});
