import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CallError } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/processes.ts";
import { type Guide, openGuide } from "./run-guide.ts";

// The guide in the order in which a reader follows it: each test continues where the previous one ended.
let guide: Guide;
const quiet = { env: { SVC_LOG_LEVEL: "warn" } };

const isThere = async (functionId: string): Promise<boolean> => {
  try {
    await guide.worker.call({ function_id: "engine::functions::info", payload: { function_id: functionId } });
    return true;
  } catch (error) {
    if (error instanceof CallError) return false;
    throw error;
  }
};

beforeAll(async () => {
  guide = await openGuide("streams.md", { config: "config" });
});
afterAll(() => guide?.close());

describe("the guide to streams", () => {
  it("adds, changes and watches", async () => {
    const todos = await guide.run("todos");
    await todos.printed("ready");
    await guide.run("finisher");
    await eventually("the finisher is there", () => isThere("todos::finish"));
    const watch = await guide.run("watch", quiet);
    await watch.printed("watching");
    const watchPython = await guide.run("watch-python", quiet);
    await watchPython.printed("watching 0");
    const audit = await guide.run("audit");
    await audit.printed("recording");

    const { output } = await guide.finish("use");

    expect(output.trim().split("\n")).toEqual(['{"version":1,"seq":1}', '{"text":"buy tea","done":true}']);
    const expected = guide.text("watch-output").trim();
    await watch.printed(expected.split("\n").at(-1) ?? "");
    expect(watch.output().trim()).toBe(expected);
    await audit.printed('update 1 {"text":"buy tea","done":true}');
    await watchPython.printed('update 1 {"text": "buy tea", "done": true} of 1');
    await watchPython.stop();
    expect(audit.output()).toContain('create 1 {"text":"buy tea","done":false}');
  });

  it("serves the plain protocol to any WebSocket", async () => {
    const plain = await guide.run("plain");
    await plain.printed(
      '"streamName":"todos","groupId":"mine","id":null,"event":{"type":"sync","data":[{"text":"buy tea","done":true}]}}',
    );
    await guide.worker.call({
      function_id: "stream::send",
      payload: { stream_name: "todos", group_id: "mine", type: "typing", data: { who: "ada" } },
    });
    await plain.printed('"event":{"type":"event","event":{"type":"typing","data":{"who":"ada"}}}}');
    await plain.stop();
  });

  it("resumes where a client stopped", async () => {
    const { output } = await guide.finish("resume", quiet);
    expect(output).toBe(guide.text("resume-output"));
  });

  it("lets a worker store the items of a stream", async () => {
    const prices = await guide.run("prices");
    await prices.printed("[ 5 ]");
    await prices.stop();
  });

  it("calls functions that authorise connections and joins", async () => {
    const authenticate = await guide.run("authenticate");
    await authenticate.printed("ready");
    writeFileSync(join(guide.project, "config.yaml"), guide.text("auth-config"));
    const knock = await guide.run("knock");
    // Without the guard no join is allowed.
    await knock.printed("lobby refused");
    const rooms = await guide.run("rooms");
    await rooms.printed("active active");
    await knock.printed("lobby live", 60_000);
    expect(knock.output()).not.toContain("vault live");
    await knock.stop();
    await rooms.printed("left lobby");
    expect(rooms.output()).not.toContain("left vault");
  });

  it("has run every sample", () => {
    expect(guide.notRun()).toEqual([]);
  });
});
