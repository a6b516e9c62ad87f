import { afterEach, beforeEach, expect, it } from "vitest";
import { type InMemoryEngine, manualClock } from "../../testing/index.ts";
import { stateEngine } from "./testing/state-engine.ts";

interface Found {
  readonly items: readonly { readonly scope: string; readonly key: string }[];
  readonly cursor: string | null;
  readonly scanned: number;
}

let engine: InMemoryEngine;
beforeEach(async () => {
  engine = await stateEngine({ clock: manualClock(Date.UTC(2026, 0, 1)) });
});
afterEach(() => engine.stop());

const query = (input: object): Promise<Found> => engine.call("state::query", input) as Promise<Found>;
const names = ({ items }: Found): readonly string[] => items.map(({ scope, key }) => `${scope}/${key}`);

async function store(scope: string, values: Readonly<Record<string, unknown>>): Promise<void> {
  const items = Object.entries(values).map(([key, value]) => ({ scope, key, value }));
  for (let at = 0; at < items.length; at += 1_000)
    await engine.call("state::set_many", { items: items.slice(at, at + 1_000) });
}

it("finds items of all scopes by key and value, with their facts", async () => {
  await store("orders", { "o-1": { status: "paid" }, "o-2": { status: "failed", total: 7 } });
  await store("users", { ada: { status: "failed" } });
  const found = await query({ query: "value.status:failed" });
  expect(names(found)).toEqual(["orders/o-2", "users/ada"]);
  expect(found).toMatchObject({ cursor: null, scanned: 3, items: [{ version: 1, bytes: 29 }, {}] });
  expect(names(await query({ query: "scope:orders and not value.status:failed" }))).toEqual(["orders/o-1"]);
  expect(names(await query({ query: "", scope: "users" }))).toEqual(["users/ada"]);
  expect(names(await query({ query: "scope:orders", scope: "users" }))).toEqual([]);
  expect(await query({ query: "key:o-*", prefix: "o-2" })).toMatchObject({ scanned: 1, items: [{ key: "o-2" }] });
});

it("returns each item once, page by page", async () => {
  await store("a", { 1: 1, 2: 2, 3: 3 });
  await store("b", { 1: 1, 2: 2 });
  const all: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Found = await query({ query: "value<3", limit: 1, cursor });
    all.push(...names(page));
    cursor = page.cursor;
  } while (cursor !== null);
  expect(all).toEqual(["a/1", "a/2", "b/1", "b/2"]);
});

it("reads a limited number of items in one call, and continues where it stopped", async () => {
  await store("many", Object.fromEntries(Array.from({ length: 10_500 }, (_, at) => [`k${at}`, at])));
  const first = await query({ query: "value:10499" });
  expect(first.scanned).toBe(10_000);
  const second = await query({ query: "value:10499", cursor: first.cursor });
  expect(first.items.length + second.items.length).toBe(1);
  expect(second).toMatchObject({ cursor: null, scanned: 500 });
});

it("leaves other work a turn after each page that it reads", async () => {
  await store("many", Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`k${at}`, at])));
  let turns = 0;
  let isDone = false;
  const turn = (): void => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await query({ query: "value:none" });
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(5_000 / 200);
});

it("refuses the cursor of another scope", async () => {
  await store("orders", { 1: 1, 2: 2 });
  await store("users", { ada: 1, bob: 2 });
  const { cursor } = await query({ query: "", scope: "orders", limit: 1 });
  const refusal = { code: "invalid_input", message: "`cursor`: is of scope orders, not of users" };
  await expect(query({ query: "", scope: "users", cursor })).rejects.toMatchObject(refusal);
  await expect(query({ query: "scope:users", cursor })).rejects.toMatchObject(refusal);
  expect(names(await query({ query: "", scope: "orders", cursor }))).toEqual(["orders/2"]);
});

it("does not read scopes of the system if they are excluded", async () => {
  await store("__console", { 1: 1, 2: 2 });
  await store("users", { ada: 1 });
  expect(names(await query({ query: "" }))).toEqual(["__console/1", "__console/2", "users/ada"]);
  const without = await query({ query: "", exclude_system: true, limit: 1 });
  expect(names(without)).toEqual(["users/ada"]);
  expect(without.scanned).toBe(1);
  expect(names(await query({ query: "scope:__console", exclude_system: true }))).toEqual([]);
  const { cursor } = await query({ query: "", limit: 1 });
  expect(names(await query({ query: "", exclude_system: true, cursor }))).toEqual(["users/ada"]);
});

it("rejects a query or cursor that is not valid", async () => {
  await expect(query({ query: "scpe:x" })).rejects.toMatchObject({
    code: "invalid_input",
    message: "`query`: unknown field scpe; did you mean scope? (at character 1)",
  });
  await expect(query({ query: "", cursor: "x" })).rejects.toMatchObject({ code: "invalid_input" });
});
