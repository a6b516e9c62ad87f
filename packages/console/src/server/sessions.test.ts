import { CallError } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EngineClient } from "./engine-client.ts";
import { MAX_SESSIONS, MAX_SESSIONS_OF_TOKEN, Sessions } from "./sessions.ts";

const OWN = "token-of-the-console-itself";

let sessions: Sessions;
let valid: Set<string>;
let nowMs: number;
/** How often the engine was asked about a token. */
let checks: number;

beforeEach(() => {
  valid = new Set([OWN, "admin", "role"]);
  nowMs = 0;
  checks = 0;
  sessions = new Sessions({ connect: clientOf, ownToken: OWN, now: () => nowMs, note: () => {} });
});
afterEach(() => sessions.close());

/** A minimal client for sessions. Its engine accepts the tokens in `valid`. */
function clientOf(token: string): EngineClient {
  checks++;
  const link = {
    port: () => ({ state: "connected" }),
    isRefused: false,
    onState: () => () => {},
    async admitted() {
      await Promise.resolve();
      if (!valid.has(token)) throw new CallError("AUTH_ERROR", "the engine does not accept this token");
    },
  };
  return { link, close: async () => {} } as unknown as EngineClient;
}

const isOpen = (session: string): boolean => sessions.find(session) !== undefined;

/** Returns the results of logins with wrong tokens: `AUTH_ERROR`, or `TooManyAttempts` if the engine was not asked. */
async function guess(count: number, from: string | ((index: number) => string)): Promise<string[]> {
  const results: string[] = [];
  for (let index = 0; index < count; index++)
    results.push(await failureOf("wrong", typeof from === "string" ? from : from(index)));
  return results;
}

async function failureOf(token: string, from: string): Promise<string> {
  return sessions.login(token, from).then(
    () => "logged in",
    (error: Error) => (CallError.is(error) ? error.code : error.name),
  );
}

describe("sessions of one token", () => {
  it("do not block another token", async () => {
    const admin = await sessions.login("admin", "10.0.0.1");
    for (let n = 0; n < 150; n++) await sessions.login("role", "10.0.0.2");
    expect(isOpen(admin)).toBe(true);
    expect(isOpen(await sessions.login("admin", "10.0.0.1"))).toBe(true);
    expect(isOpen(await sessions.login(OWN, "10.0.0.1"))).toBe(true);
  });

  it("are limited: a login above the limit ends the least recently used one", async () => {
    const opened: string[] = [];
    for (let n = 0; n < MAX_SESSIONS_OF_TOKEN; n++) {
      nowMs++;
      opened.push(await sessions.login("role", "10.0.0.2"));
    }
    nowMs++;
    sessions.find(opened[0])?.touch();
    let ended = 0;
    sessions.find(opened[1])?.onEnd(() => void ended++);
    nowMs++;
    opened.push(await sessions.login("role", "10.0.0.2"));
    expect(opened.filter((session) => !isOpen(session))).toEqual([opened[1]]);
    expect(ended).toBe(1);
  });

  it("are ended first when all tokens together have too many", async () => {
    const admin = await sessions.login("admin", "10.0.0.1");
    const others: string[] = [];
    for (let token = 0; others.length < MAX_SESSIONS - 1; token++) {
      valid.add(`role-${token}`);
      for (let n = 0; n < MAX_SESSIONS_OF_TOKEN && others.length < MAX_SESSIONS - 1; n++)
        others.push(await sessions.login(`role-${token}`, "10.0.0.2"));
    }
    const another = await sessions.login("role", "10.0.0.3");
    expect([admin, another].map(isOpen)).toEqual([true, true]);
    expect(others.filter((session) => !isOpen(session))).toEqual([others[0]]);
  });

  it("are not all ended by a login when every token has one session", async () => {
    const opened: string[] = [];
    for (let token = 0; token <= MAX_SESSIONS; token++) {
      valid.add(`role-${token}`);
      nowMs++;
      opened.push(await sessions.login(`role-${token}`, "10.0.0.2"));
    }
    expect(opened.map(isOpen)).toEqual([false, ...Array(MAX_SESSIONS).fill(true)]);
  });
});

describe("failed logins", () => {
  it("from one address do not block other addresses", async () => {
    expect(await guess(12, "10.0.0.6")).toEqual([
      ...Array(10).fill("AUTH_ERROR"),
      "TooManyAttempts",
      "TooManyAttempts",
    ]);
    expect(await failureOf("role", "10.0.0.1")).toBe("logged in");
    expect(await failureOf("wrong", "10.0.0.1")).toBe("AUTH_ERROR");
  });

  it("do not block the console's own token, nor one that logged in before", async () => {
    sessions.logout(await sessions.login("admin", "10.0.0.6"));
    await guess(10, "10.0.0.6");
    expect(await failureOf("role", "10.0.0.6")).toBe("TooManyAttempts");
    expect(await failureOf("admin", "10.0.0.6")).toBe("logged in");
    expect(await failureOf(OWN, "10.0.0.6")).toBe("logged in");
  });

  it("delay a valid token from the same address by 6 s, e.g. behind a proxy", async () => {
    await guess(10, "10.0.0.6");
    await expect(sessions.login("role", "10.0.0.6")).rejects.toMatchObject({
      message: "too many logins from this address failed; try again in 6 s",
      retryAfterSeconds: 6,
    });
    nowMs += 6_000;
    expect(await failureOf("role", "10.0.0.6")).toBe("logged in");
  });

  it("from many addresses are limited together, for less than a second", async () => {
    const flood = await guess(40, (index) => `10.0.${index}.1`);
    expect(flood.filter((result) => result === "AUTH_ERROR")).toHaveLength(30);
    expect(await failureOf("role", "10.1.0.1")).toBe("TooManyAttempts");
    expect(await failureOf(OWN, "10.1.0.1")).toBe("logged in");
    nowMs += 1_000;
    expect(await failureOf("role", "10.1.0.1")).toBe("logged in");
  });

  it("count for a whole /64 of IPv6", async () => {
    await guess(10, (index) => `2001:db8::${index + 1}`);
    expect(await failureOf("wrong", "2001:db8:0:0:ffff::1")).toBe("TooManyAttempts");
    expect(await failureOf("wrong", "2001:db8:0:1::1")).toBe("AUTH_ERROR");
  });

  it("count for a token that the engine does not accept any more", async () => {
    sessions.logout(await sessions.login("role", "10.0.0.6"));
    valid.delete("role");
    const results: string[] = [];
    for (let n = 0; n < 12; n++) results.push(await failureOf("role", "10.0.0.6"));
    // The first one is checked without a limit.
    expect(results).toEqual([...Array(11).fill("AUTH_ERROR"), "TooManyAttempts"]);
  });
});

describe("successful logins", () => {
  it("do not count as failures", async () => {
    for (let token = 0; token < 40; token++) {
      valid.add(`role-${token}`);
      expect(await failureOf(`role-${token}`, "10.0.0.2")).toBe("logged in");
    }
  });

  it("with one token at the same time share one check", async () => {
    const opened = await Promise.all(Array.from({ length: 8 }, () => sessions.login("role", "10.0.0.2")));
    expect(checks).toBe(1);
    expect(new Set(opened).size).toBe(8);
    expect(opened.every(isOpen)).toBe(true);
  });
});
