import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/processes.ts";
import { type Guide, openGuide, type RunningSample } from "./run-guide.ts";

// The guide in the order in which a reader follows it: each test continues where the previous one ended.
let guide: Guide;
let chat: RunningSample;
let kitchen: RunningSample;

interface Listed {
  readonly registered_triggers: readonly {
    readonly id: string;
    readonly config: { readonly word?: string };
    readonly status: string;
    readonly reason: string | null;
  }[];
}

const say = (text: string): Promise<unknown> => guide.worker.call({ function_id: "chat::say", payload: { text } });
/** `unconfirmed` until the provider has answered. */
const statusOf = async (word: string): Promise<string | undefined> => {
  const payload = { trigger_type: "keyword" };
  const { registered_triggers } = await guide.worker.call<Listed>({
    function_id: "engine::registered-triggers::list",
    payload,
  });
  const found = registered_triggers.find(({ config }) => config.word === word);
  return found?.status === "active" && found.reason !== null ? "unconfirmed" : found?.status;
};

beforeAll(async () => {
  guide = await openGuide("trigger-types.md");
});
afterAll(() => guide?.close());

describe("the guide to trigger types", () => {
  it("has a trigger wait for its type, and fire once the type is registered", async () => {
    const watcher = await guide.run("watcher");
    await watcher.printed("watching");
    kitchen = await guide.run("kitchen");
    await kitchen.printed("the trigger is inactive");
    await watcher.printed("the kitchen is open");
    await watcher.stop();
    chat = await guide.run("chat");
    await chat.printed("the chat is open");
    await eventually("the trigger is active", async () => (await statusOf("tea")) === "active");
    expect(await say("tea is ready")).toEqual({ heard: 1 });
    await kitchen.printed("boiling water: tea is ready {'cups': 2}");
  });

  it("shows types and triggers", async () => {
    const { output } = await guide.finish("list");
    const [types, triggers] = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(types).toMatchObject({
      trigger_types: expect.arrayContaining([
        expect.objectContaining({ id: "keyword", validated: true, instance_count: 1 }),
      ]),
    });
    expect(triggers).toMatchObject({
      registered_triggers: [{ config: { word: "tea" }, status: "active", reason: null }],
    });
  });

  it("rejects configs by the format and by the provider", async () => {
    const ask = (config: object) =>
      guide.worker.registerTrigger({ type: "keyword", function_id: "kitchen::boil", config }).registered;
    expect(await ask({ word: "" })).toMatchObject({ status: "error", reason: expect.stringContaining("/word must") });
    expect(await ask({ word: "silence" })).toMatchObject({ status: "error", reason: "nobody ever says silence" });
  });

  it("keeps a trigger without an owner until it is removed", async () => {
    const { output } = await guide.finish("unowned");
    expect(output).toContain('{"heard":1}');
    expect(output).toContain('{"removed":true}');
    await kitchen.printed("boiling water: the soup is cold");
    await chat.printed("let go of soup");
  });

  it("deactivates triggers when the provider dies, and sends them again when it reconnects", async () => {
    await chat.stop("SIGKILL");
    await eventually("the trigger waits", async () => (await statusOf("tea")) === "inactive");
    chat = await guide.run("chat");
    await chat.printed("the chat is open");
    await eventually("the trigger is active", async () => (await statusOf("tea")) === "active");
    expect(await say("more tea")).toEqual({ heard: 1 });
    await kitchen.printed("more tea");
  });

  it("removes a trigger from its provider when its owner dies", async () => {
    await kitchen.stop("SIGKILL");
    await chat.printed("let go of tea");
    expect(await statusOf("tea")).toBeUndefined();
    expect(await say("tea?")).toEqual({ heard: 0 });
  });

  it("provides a type in Python that fires a function in TypeScript", async () => {
    await guide.run("ticker");
    const clock = await guide.run("clock");
    await clock.printed("the trigger:");
    await clock.printed("tick 3");
  });

  it("has run every sample", () => {
    expect(guide.notRun()).toEqual([]);
  });
});
