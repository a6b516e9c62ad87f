import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { isRead, READS } from "../contract/operations.ts";

const reference = readFileSync(new URL("../../../../docs/reference/functions.md", import.meta.url), "utf8");
const functions = new Set([...reference.matchAll(/^### `([^`]+)`$/gm)].map(([, id]) => id as string));

it("lists only functions of the engine as reads, because a worker could register any other id", () => {
  expect([...READS].filter((id) => !functions.has(id))).toEqual([]);
});

it("lists all listings of the engine as reads", () => {
  expect([...functions].filter((id) => id.startsWith("engine::") && id.endsWith("::list") && !READS.has(id))).toEqual(
    [],
  );
});

it("lists no function as a read whose name indicates a change", () => {
  const verbs =
    /::(?:\w+_)?(?:set|delete|clear|update|create|purge|discard|redrive|enqueue|emit|publish|pause|resume|restart|import|trigger|silence|register)\w*$/;
  expect([...READS].filter((id) => verbs.test(id))).toEqual([]);
  for (const id of [
    "state::set",
    "queue::redrive",
    "cron::trigger_now",
    "engine::traces::clear",
    "users::own",
    "toString",
  ])
    expect(isRead(id)).toBe(false);
});
