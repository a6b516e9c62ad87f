import { describe, expect, it } from "vitest";
import { ANONYMOUS } from "../../access/grants.ts";
import { policyOf } from "../../access/policy.ts";
import { SessionAccess } from "../../access/session-access.ts";
import { memoryStreams } from "../../streams/testing/memory-streams.ts";
import { inMemoryEngine } from "../../testing/index.ts";
import { type EngineInfo, engineFunctions } from "./index.ts";

function mayCall(...patterns: string[]): SessionAccess {
  const rule = {
    authFunctionId: undefined,
    exposeFunctions: patterns.map((pattern) => `match("${pattern}")`),
    roles: [],
    tokens: [],
  };
  const hooks = {
    onFunctionRegistrationFunctionId: undefined,
    onTriggerRegistrationFunctionId: undefined,
    onTriggerTypeRegistrationFunctionId: undefined,
  };
  return new SessionAccess(
    ANONYMOUS,
    policyOf({ tokenRequired: false, rbac: { ...rule, ...hooks }, middlewareFunctionId: undefined }),
  );
}

const BOARD = {
  name: "todos",
  type: "user",
  groups: [
    { group_id: "a", items: 2, subscribers: 1 },
    { group_id: "b", items: null, subscribers: 2 },
  ],
  subscribers: 3,
};
const TAP = {
  name: "svc.stream.messages",
  type: "system",
  groups: [{ group_id: "all", items: null, subscribers: 1 }],
  subscribers: 1,
};

async function scene() {
  const engine = await inMemoryEngine({ modules: [engineFunctions(() => ({}) as EngineInfo)] });
  const streams = memoryStreams(engine.kernel.streams);
  streams.write("todos", "a", "1", "1");
  streams.write("todos", "a", "2", "2");
  const socket = engine.openSocket("/");
  for (const [at, [streamName, groupId]] of [
    ["todos", "a"],
    ["todos", "b"],
    ["todos", "b"],
    ["svc.stream.messages", "all"],
  ].entries()) {
    socket.say({ type: "join", data: { subscriptionId: String(at), streamName, groupId } });
    await socket.next();
  }
  return engine;
}

describe("engine::streams::list", () => {
  it("shows every stream with its groups, their items and subscribers; the engine's own on request", async () => {
    const engine = await scene();
    expect(await engine.call("engine::streams::list", {})).toEqual({ streams: [BOARD] });
    expect(await engine.call("engine::streams::list", { include_system: true })).toEqual({ streams: [TAP, BOARD] });
  });

  it("shows as many as are counted: those that functions keep, and without those whose items went unseen", async () => {
    const engine = await inMemoryEngine({ modules: [engineFunctions(() => ({}) as EngineInfo)] });
    const hub = engine.kernel.streams;
    let kept = [{ stream: "kept", group: "g", items: 1 }];
    const { publish, write } = memoryStreams(hub, { groups: () => Promise.resolve(kept) });
    const names = async (): Promise<readonly string[]> => {
      const { streams } = (await engine.call("engine::streams::list", {})) as { streams: { name: string }[] };
      return streams.map(({ name }) => name);
    };
    publish({ stream: "elsewhere", group: "g", id: "1", type: "create", json: "1", version: undefined });
    write("kept", "g", "1", "1");
    expect(await names()).toEqual(["elsewhere", "kept"]);
    expect(hub.userStreams).toBe(2);
    // Another engine on the same storage has deleted one and written another.
    kept = [{ stream: "new", group: "g", items: 1 }];
    expect(hub.userStreams).toBe(2);
    const asked = names();
    write("meanwhile", "g", "1", "1");
    await asked;
    kept.push({ stream: "meanwhile", group: "g", items: 1 });
    expect(await names()).toEqual(["elsewhere", "meanwhile", "new"]);
    expect(hub.userStreams).toBe(3);
    const { streams } = (await engine.call("engine::streams::list", {})) as { streams: object[] };
    expect(streams[0]).toEqual({ name: "elsewhere", type: "user", groups: [], subscribers: 0 });
  });

  it("shows a restricted caller users' streams if it may list those, and never the engine's own", async () => {
    const engine = await scene();
    const [reader, other] = [
      await engine.connectWorker({ access: mayCall("engine::*", "stream::*") }),
      await engine.connectWorker({ access: mayCall("engine::*") }),
    ];
    expect(await reader.call("engine::streams::list", { include_system: true })).toMatchObject({
      result: { streams: [BOARD] },
    });
    expect(await other.call("engine::streams::list", { include_system: true })).toMatchObject({
      result: { streams: [] },
    });
  });
});
