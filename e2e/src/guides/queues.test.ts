import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Guide, openGuide } from "./run-guide.ts";

// The guide in the order in which a reader follows it: each test continues where the previous one ended.
let guide: Guide;
beforeAll(async () => {
  guide = await openGuide("queues.md", { config: "config" });
});
afterAll(() => guide?.close());

const quiet = { env: { SVC_LOG_LEVEL: "silent" } };

describe("the guide to queues", () => {
  it("runs jobs, once per dedupe key, and keeps dead-letter entries that can be redriven", async () => {
    const mailer = await guide.run("mailer", quiet);
    await mailer.printed("ready");
    expect((await guide.finish("enqueue", quiet)).output).toBe(guide.text("enqueue-output"));
    await mailer.printed(guide.text("mailer-output"));
    expect((await guide.finish("letters", quiet)).output).toBe(guide.text("letters-output"));
    await mailer.printed("to bob@example.com, attempt 1 from mail");
    await mailer.stop();
  });

  it.each(["later", "report", "orders"])("prints the documented output: %s", async (name) => {
    const { output } = await guide.finish(name, quiet);
    expect(output).toBe(guide.text(`${name}-output`));
  });

  it("enqueues from a shell", async () => {
    const { output } = await guide.finish("by-id");
    expect(JSON.parse(output)).toMatchObject({ duplicate: false });
  });

  it("keeps messages for a subscriber that is disconnected", async () => {
    const first = await guide.run("stock", quiet);
    await first.printed("ready");
    await first.stop();
    await guide.finish("publish");
    const second = await guide.run("stock", quiet);
    await second.printed("reserve 3");
    expect(second.output().replace("ready\n", "")).toBe(guide.text("stock-output"));
    await second.stop();
  });

  it("runs jobs with a trigger of the queue", async () => {
    const printer = await guide.run("printer", quiet);
    await printer.printed(guide.text("printer-output"));
    await printer.stop();
  });

  it("has run every sample", () => {
    expect(guide.notRun()).toEqual([]);
  });
});
