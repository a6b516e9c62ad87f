import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Guide, openGuide } from "./run-guide.ts";

// The guide in the order in which a reader follows it: each test continues where the previous one ended.
let guide: Guide;
const quiet = { env: { SVC_LOG_LEVEL: "warn" } };
beforeAll(async () => {
  guide = await openGuide("events.md", { config: "config" });
});
afterAll(() => guide?.close());

describe("the guide to events", () => {
  it("reaches the subscribers, and returns their number", async () => {
    const mailer = await guide.run("mailer", quiet);
    await mailer.printed("ready");
    const { output } = await guide.finish("shop", quiet);
    expect(output).toBe(guide.text("shop-output"));
    await mailer.printed("confirm 7");
  });

  it("receives what matches a pattern, with its topic", async () => {
    const counter = await guide.run("counter", quiet);
    await counter.printed("ready");
    const { output } = await guide.finish("emit");
    expect(JSON.parse(output)).toEqual({ delivered_to: 1 });
    expect((await guide.finish("till", quiet)).output).toBe("1\n");
    await counter.printed(guide.text("counter-output"));
  });

  it("counts the events of each topic", async () => {
    const { output } = await guide.finish("topics", quiet);
    expect(output).toBe(guide.text("topics-output"));
  });

  it("reports changes of state", async () => {
    const audit = await guide.run("audit", quiet);
    await audit.printed("ready");
    await guide.finish("change", quiet);
    await audit.printed(guide.text("audit-output"));
  });

  it("has run every sample", () => {
    expect(guide.notRun()).toEqual([]);
  });
});
