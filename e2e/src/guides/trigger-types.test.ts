import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Guide, openGuide } from "./run-guide.ts";

let guide: Guide;
beforeAll(async () => {
  guide = await openGuide("trigger-types.md");
});
afterAll(() => guide?.close());

describe("the guide to trigger types", () => {
  it("provides a type", async () => {
    const chat = await guide.run("keyword");
    await chat.printed("the chat is open");
    expect(await guide.worker.call({ function_id: "chat::say", payload: { text: "tea is ready" } })).toEqual({ heard: 0 });
  });

  it("has run every sample", () => {
    expect(guide.notRun()).toEqual([]);
  });
});
