import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { type McpSession, McpSessions } from "./mcp-sessions.ts";

const MAX_SESSIONS = 32;
const HOUR_MS = 3_600_000;

/** Sessions on a clock of the test. `use` starts a request and returns the function that ends it. */
function testSessions() {
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

it("closes the least recently used session, and never one with an open request", async () => {
  const { sessions, ended, add, use, pass } = testSessions();
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

it("closes a session an hour after its last request, but not while one is open", async () => {
  const { sessions, ended, add, use, pass } = testSessions();
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
