import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Guide, openGuide } from "./run-guide.ts";

// The guide as its reader goes through it: each test goes on where the one before ended.
let guide: Guide;
const quiet = { env: { SVC_LOG_LEVEL: "warn" } };
beforeAll(async () => {
  guide = await openGuide("events.md", { config: "config" });
});
afterAll(() => guide?.close());

describe("the guide to events", () => {
  it("reaches who listens, and tells how many that are", async () => {
    const mailer = await guide.run("mailer", quiet);
    await mailer.printed("ready");
    const { output } = await guide.finish("shop", quiet);
    expect(output).toBe(guide.text("shop-output"));
    await mailer.printed("confirm 7");
  });

  it("hears what fits a pattern, and of which topic it was", async () => {
    const counter = await guide.run("counter", quiet);
    await counter.printed("ready");
    const { output } = await guide.finish("emit");
    expect(JSON.parse(output)).toEqual({ delivered_to: 1 });
    expect((await guide.finish("till", quiet)).output).toBe("1\n");
    await counter.printed(guide.text("counter-output"));
  });

  it("counts what happened in each topic", async () => {
    const { output } = await guide.finish("topics", quiet);
    expect(output).toBe(guide.text("topics-output"));
  });

  it("tells of changes of state", async () => {
    const audit = await guide.run("audit", quiet);
    await audit.printed("ready");
    await guide.finish("change", quiet);
    await audit.printed(guide.text("audit-output"));
  });

  it("has run every sample", () => {
    expect(guide.notRun()).toEqual([]);
  });
});
