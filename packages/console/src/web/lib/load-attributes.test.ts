// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { loadAttributes } from "./load-attributes.ts";
import { stubCalls } from "./testing/stub-calls.ts";

/** Returns what is offered, by name. */
async function offered(sources: Parameters<typeof loadAttributes>[0]): Promise<Readonly<Record<string, string[]>>> {
  const loaded = await loadAttributes(sources);
  return Object.fromEntries([...loaded].map(([name, values]) => [name, [...values]]));
}

it("offers the names of members of items, and no value that is or contains a secret", async () => {
  const value = {
    ...{ status: "paid", total: 7, password: "hunter2", "db.api_key.old": "hunter2" },
    ...{ owner: { password: "hunter2" }, tags: ["hunter2"], url: "https://ada:hunter2@db/x", note: "token=hunter2" },
  };
  const items = [
    { scope: "users", key: "ada", value },
    { scope: "users", key: "access-token", value: { text: "hunter2" } },
  ];
  stubCalls(({ function_id }) => ({ data: function_id === "state::query" ? { items } : {} }));
  expect(await offered(["state"])).toEqual({
    ...{ "value.status": ["paid"], "value.total": ["7"], "value.password": [], "value.db.api_key.old": [] },
    ...{ "value.owner": [], "value.tags": [], "value.url": [], "value.note": [], "value.text": [] },
  });
});

it("offers no secrets of spans and log entries", async () => {
  const attributes = { "order.id": "7", "user.password": "hunter2", header: "Bearer hunter2hunter2", body: '{"a":1}' };
  stubCalls(({ function_id }) => ({
    data:
      function_id === "engine::logs::list"
        ? { logs: [{ attributes }] }
        : { spans: [{ trace_id: "t", attributes: Object.entries(attributes) }] },
  }));
  const expected = { "attr.order.id": ["7"], "attr.user.password": [], "attr.header": [], "attr.body": [] };
  expect(await offered(["logs"])).toEqual(expected);
  expect(await offered(["traces"])).toEqual(expected);
});
