import { expect, it } from "vitest";
import { untilConsoleIsUp, withinTime } from "./start-time.ts";

const never = new Promise<never>(() => {});

it("reports a console that does not start in time, and resolves", async () => {
  const reported: string[] = [];
  await untilConsoleIsUp([never], { report: (message) => reported.push(message), timeoutMs: 1 });
  expect(reported).toEqual([
    expect.stringMatching(/^the console did not report that it is up within 0\.001 s; everything else keeps running\./),
  ]);
});

it("reports nothing for a console that is up or has exited", async () => {
  const reported: string[] = [];
  await untilConsoleIsUp([never, Promise.resolve("exit code 1")], { report: (message) => reported.push(message) });
  expect(reported).toEqual([]);
});

it("passes on results and failures within the timeout", async () => {
  expect(await withinTime([never, Promise.resolve("up")])).toBe("up");
  await expect(withinTime([Promise.reject(new Error("no"))])).rejects.toThrow("no");
});
