import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Guide, openGuide } from "./run-guide.ts";

let guide: Guide;
beforeAll(async () => {
  guide = await openGuide("cron.md", { config: "config" });
});
afterAll(() => guide?.close());

const quiet = { env: { SVC_LOG_LEVEL: "warn" } };

describe("the guide to cron", () => {
  it("runs a function at its times, and shows, pauses, runs and resumes its trigger (gap 20)", async () => {
    const report = await guide.run("report", quiet);
    await report.printed("the report of");
    const { output } = await guide.finish("by-hand", quiet);
    expect(output).toMatch(
      /"status": ?"paused"[\s\S]*"outcome": ?"ok"[\s\S]*"manual": ?true[\s\S]*"runs"[\s\S]*"status": ?"active"/,
    );
    await report.stop();
  });

  it("does so in Python", async () => {
    const cleaner = await guide.run("cleaner", quiet);
    await cleaner.printed("cleaning cron");
    expect(cleaner.output()).toMatch(/^active\ncleaning cron(\n|$)/);
    await cleaner.stop();
  });

  it("reports the error in an expression", async () => {
    // The SDK's log contains it, too.
    expect((await guide.finish("slip", quiet)).output.split("\n")).toContain(guide.text("slip-output").trim());
  });

  it("has run every sample", () => {
    expect(guide.notRun()).toEqual([]);
  });
});
