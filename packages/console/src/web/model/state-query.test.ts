// @vitest-environment happy-dom
import { expect, it } from "vitest";
import { stubCalls } from "../lib/testing/stub-calls.ts";
import { queryState } from "./state-query.ts";

it("stops a search after two requests, and continues it from there", async () => {
  const requests = stubCalls((_request, at) => ({ data: { items: [], cursor: `c${at}`, scanned: 10_000 } }));
  const { signal } = new AbortController();
  const found = await queryState("value:7", { limit: 10, withSystem: false, signal });
  expect(found).toEqual({ items: [], cursor: "c1", scanned: 20_000 });
  expect(requests).toHaveLength(2);
  await queryState("value:7", { limit: 10, withSystem: false, cursor: found.cursor, signal });
  expect(requests[2]?.payload).toMatchObject({ cursor: "c1" });
});

it("excludes the system's scopes unless they are wanted", async () => {
  const requests = stubCalls(() => ({ data: { items: [], cursor: null, scanned: 0 } }));
  const { signal } = new AbortController();
  await queryState("", { limit: 10, withSystem: false, signal });
  await queryState("", { limit: 10, withSystem: true, signal });
  expect(requests.map(({ payload }) => payload?.exclude_system)).toEqual([true, false]);
});
