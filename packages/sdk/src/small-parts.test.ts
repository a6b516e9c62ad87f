import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { isUuid } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { DEFAULT_ADDRESS, redactAddress, resolveAddresses } from "./connection/address.ts";
import { readMalformedFrame } from "./connection/malformed-frame.ts";
import { createLogger, jsonLine, type LogRecord, logLevelFrom, safeLogger } from "./logger.ts";
import { newUuid } from "./uuid.ts";
import { VERSION } from "./version.ts";

it("the version is the package's", () => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  expect(VERSION).toBe(version);
});

it("the browser entry imports neither `ws` nor Node's modules", () => {
  const seen = new Set<string>();
  const foreign = new Set<string>();
  const visit = (file: URL): void => {
    if (seen.has(file.href)) return;
    seen.add(file.href);
    for (const [, typeOnly, specifier] of readFileSync(file, "utf8").matchAll(
      /^(?:import|export) (type )?[^"]*from "([^"]+)";$/gm,
    )) {
      if (typeOnly !== undefined || specifier === undefined) continue;
      if (specifier.startsWith(".")) visit(new URL(specifier, file));
      else foreign.add(specifier);
    }
  };
  visit(new URL("../src/browser.ts", import.meta.url));
  expect(seen.size).toBeGreaterThan(15);
  expect([...foreign].sort()).toEqual(["@svc-runtime/protocol/client"]);
});

describe("the address", () => {
  it("is the argument, else SVC_URL, else the default", () => {
    expect(resolveAddresses("ws://a:1", "ws://b:1")).toEqual(["ws://a:1"]);
    expect(resolveAddresses(undefined, " ws://b:1 ")).toEqual(["ws://b:1"]);
    expect(resolveAddresses(undefined, "ws://a:1, wss://b:2")).toEqual(["ws://a:1", "wss://b:2"]);
    expect(() => resolveAddresses("ws://a:1,", undefined)).toThrow('the address is not a URL: "ws://a:***"');
    expect(() => resolveAddresses("ws://a,b:1", undefined)).toThrow("each of several with ws://");
    expect(resolveAddresses(undefined, "  ")).toEqual([DEFAULT_ADDRESS]);
    expect(resolveAddresses(undefined, undefined)).toEqual(["ws://localhost:49134"]);
    expect(resolveAddresses("wss://svc:token@host/", undefined)).toEqual(["wss://svc:token@host/"]);
  });

  it("names its source if it is invalid", () => {
    expect(() => resolveAddresses(undefined, "nonsense")).toThrow('SVC_URL is not a URL: "nonsense"');
    expect(() => resolveAddresses("ws//svc:t@ken@host:1/?k=v", undefined)).toThrow('is not a URL: "***"');
    expect(() => resolveAddresses("ws://host:1x/p", undefined)).toThrow('is not a URL: "ws://host:***"');
    expect(() => resolveAddresses("http://x", undefined)).toThrow("must begin with ws:// or wss://; give it as");
  });

  it("may have commas in its password", () => {
    const address = "ws://svc:a,b,wss@h:1/";
    expect(resolveAddresses(undefined, address)).toEqual([address]);
    expect(resolveAddresses(undefined, `${address}, wss://svc:c,d@i:1`)).toEqual([address, "wss://svc:c,d@i:1"]);
  });

  it.each([
    "ws://svc:pass,word",
    "svc:pass,word",
    "ws://svc:pass,word@host:x",
    "ws:/svc:pass,word",
    "ws//svc:pass,word",
  ])("shows no part of a password in the error: %s", (address) => {
    let thrown: unknown;
    try {
      resolveAddresses(undefined, address);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(TypeError);
    expect(inspect(thrown)).toContain("SVC_URL");
    expect(inspect(thrown)).not.toMatch(/pass|word/);
  });

  it("is logged without secrets", () => {
    expect(redactAddress("ws://svc:token@host:1/?k=v")).toBe("ws://svc:***@host:1/?***");
  });
});

describe("ids", () => {
  it("are distinct UUIDs of version 4", () => {
    const ids = Array.from({ length: 5000 }, newUuid);
    expect(new Set(ids).size).toBe(5000);
    for (const id of ids) expect(isUuid(id) && /^.{14}4.{4}[89ab]/.test(id), id).toBe(true);
  });
});

describe("the logger", () => {
  const record = (fields: Record<string, unknown>): LogRecord => ({
    timeMs: 0,
    level: "info",
    message: "hello",
    fields,
  });

  it("writes one line of JSON whose first members no field can replace", () => {
    const line = jsonLine(record({ a: 1, level: "fake", message: "fake", text: "a\nb" }));
    expect(line).not.toContain("\n");
    expect(JSON.parse(line)).toEqual({
      time: "1970-01-01T00:00:00.000Z",
      level: "info",
      message: "hello",
      a: 1,
      text: "a\nb",
    });
  });

  it("writes errors with type, code and stack, big integers as strings, and accepts cycles", () => {
    const error = Object.assign(new Error("boom"), { code: "E" });
    expect(JSON.parse(jsonLine(record({ error, big: 7n })))).toMatchObject({
      error: { type: "Error", code: "E", message: "boom", stack: expect.any(String) },
      big: "7",
    });
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(JSON.parse(jsonLine(record(cycle)))).toMatchObject({ message: "hello", fields_error: expect.any(String) });
  });

  it("drops lines below its level", () => {
    const seen: string[] = [];
    const log = createLogger({ level: "warn", write: ({ level }) => seen.push(level) });
    log.debug("x");
    log.info("x");
    log.warn("x");
    log.error("x");
    expect(seen).toEqual(["warn", "error"]);
    createLogger({ level: "silent", write: ({ level }) => seen.push(level) }).error("x");
    expect(seen).toHaveLength(2);
    expect([logLevelFrom(" DEBUG "), logLevelFrom("silent"), logLevelFrom("loud"), logLevelFrom(undefined)]).toEqual([
      "debug",
      "silent",
      "info",
      "info",
    ]);
  });

  it("never throws into the SDK", () => {
    const log = safeLogger(
      createLogger({
        write: () => {
          throw new Error("disk full");
        },
      }),
    );
    expect(() => log.error("x")).not.toThrow();
  });
});

describe("a malformed frame", () => {
  it("gives up in bounded time on a frame with many similar tails", () => {
    expect(readMalformedFrame('"type":"invokefunction","invocation_id":"'.repeat(100_000))).toBeUndefined();
  });
});
