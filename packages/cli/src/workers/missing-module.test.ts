import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestSystem, testSystem } from "../data-commands.test-support.ts";
import { EXIT } from "../exit-codes.ts";

let system: TestSystem;
beforeAll(async () => {
  system = await testSystem();
}, 60_000);
afterAll(() => system.stop());

it.each([
  [["state", "list"], "svc-state"],
  [["state", "get", "a", "b"], "svc-state"],
  [["state", "set", "a", "b", "1"], "svc-state"],
  [["state", "delete", "a", "b"], "svc-state"],
  [["queue", "list"], "svc-queue"],
  [["queue", "peek", "default"], "svc-queue"],
  [["queue", "redrive", "default"], "svc-queue"],
  [["queue", "purge", "default", "--yes"], "svc-queue"],
  [["event", "emit", "t"], "svc-event"],
  [["cron", "list"], "svc-cron"],
  [["cron", "run", "f"], "svc-cron"],
])("`svc %j` names the command that adds the missing module", async (args, module) => {
  const { status, out, notes } = await system.svc(args);
  expect([status, out]).toEqual([EXIT.failed, ""]);
  expect(notes).toContain(`svc worker add ${module}`);
});
