import { expect, it } from "vitest";
import { untilConsoleIsUp, withinTime } from "./start-time.ts";

const never = new Promise<never>(() => {});

it("tells of a console that says nothing, and goes on", async () => {
  const told: string[] = [];
  await untilConsoleIsUp([never], { report: (message) => told.push(message), timeoutMs: 1 });
  expect(told).toEqual([expect.stringMatching(/^nothing was heard of the console within 0\.001 s; everything else goes on\./)]);
});

it("says nothing of one that is up or has ended", async () => {
  const told: string[] = [];
  await untilConsoleIsUp([never, Promise.resolve("exit code 1")], { report: (message) => told.push(message) });
  expect(told).toEqual([]);
});

it("hands on what happens within the time, also a failure", async () => {
  expect(await withinTime([never, Promise.resolve("up")])).toBe("up");
  await expect(withinTime([Promise.reject(new Error("no"))])).rejects.toThrow("no");
});
