import { afterAll, beforeAll, expect, it } from "vitest";
import { type Guide, openGuide } from "./run-guide.ts";

let guide: Guide;

beforeAll(async () => {
  guide = await openGuide("channels.md");
});
afterAll(() => guide?.close());

it.each([
  ["digest-worker", "upload"],
  ["countdown-worker", "countdown"],
])("%s answers %s as the guide says", async (provider, caller) => {
  const worker = await guide.run(provider);
  await worker.printed("ready");
  const { output } = await guide.finish(caller, { env: { SVC_LOG_LEVEL: "warn" } });
  expect(output).toBe(guide.text(`${caller}-output`));
  await worker.stop();
});

it.each(["streams", "torn"])("%s prints what the guide says", async (name) => {
  const { output } = await guide.finish(name, { env: { SVC_LOG_LEVEL: "warn" } });
  expect(output).toBe(guide.text(`${name}-output`));
});

it("has run every sample in TypeScript; those in Python are run by Python's tests", () => {
  expect(guide.notRun().filter((name) => !name.startsWith("python-"))).toEqual([]);
});
