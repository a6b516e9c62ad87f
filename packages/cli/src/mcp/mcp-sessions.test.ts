import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { type McpSession, McpSessions } from "./mcp-sessions.ts";

const MAX_SESSIONS = 32;
const HOUR_MS = 3_600_000;

/** Sessions at a time that the test moves; `use` begins a request and gives what ends it. */
function shelf() {
  let nowMs = 0;
  const ended: string[] = [];
  const sessions = new McpSessions({
    nowMs: () => nowMs,
    onProblem: (error) => {
      throw error;
    },
  });
  const add = (name: string): McpSession => {
    const session: McpSession = { handle: async () => {}, close: async () => void ended.push(name) };
    sessions.register(session, name);
    return session;
  };
  const use = async (session: McpSession): Promise<() => void> => {
    const request = new IncomingMessage(new Socket());
    const response = new ServerResponse(request);
    await sessions.handle(session, request, response);
    return () => void response.emit("close");
  };
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { sessions, ended, add, use, pass };
}

it("has the session that was used longest ago make room, and never one with an open request", async () => {
  const { sessions, ended, add, use, pass } = shelf();
  const ends: (() => void)[] = [];
  for (let number = 0; number < MAX_SESSIONS; number += 1) ends.push(await use(add(`s${number}`)));

  expect(sessions.makeRoom()).toBe(false);
  expect(ended).toEqual([]);

  ends[7]?.();
  pass(1);
  ends[3]?.();
  expect(sessions.makeRoom()).toBe(true);
  expect(ended).toEqual(["s7"]);
  expect(sessions.withId("s7")).toBeUndefined();
  expect(sessions.withId("s3")).toBeDefined();
});

it("ends a session an hour after its last request, not while one is open", async () => {
  const { sessions, ended, add, use, pass } = shelf();
  await use(add("open"));
  const end = await use(add("idle"));
  pass(HOUR_MS);
  end();

  pass(HOUR_MS - 1);
  sessions.endIdle();
  expect(ended).toEqual([]);

  pass(1);
  sessions.endIdle();
  expect(ended).toEqual(["idle"]);
});
