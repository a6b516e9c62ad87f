import { messageSchemas } from "@svc-runtime/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isControlType, readControlMessage } from "./control-messages.ts";

const TYPES = [
  "workerregistered",
  "cancelinvocation",
  "registertrigger",
  "unregistertrigger",
  "triggerregistrationresult",
  "error",
  "ping",
  "pong",
] as const;

const uuid = "11111111-1111-4111-8111-111111111111";
const value = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    "",
    " ",
    "a",
    "active",
    "error",
    uuid,
    "a\nb",
    "x".repeat(300),
    1,
    true,
    [],
  ),
  fc.record({ version: fc.constantFrom<unknown>("1", 1), instance_id: fc.constantFrom<unknown>("i", null) }),
  fc.record(
    {
      code: fc.constantFrom<unknown>("c", 1),
      message: fc.constantFrom<unknown>("m", null),
      stacktrace: fc.constantFrom<unknown>("s", null, 1),
      details: fc.constantFrom<unknown>({}, { a: 1 }, null, [], "d"),
      more: fc.constant(1),
    },
    { requiredKeys: ["code", "message"] },
  ),
);
const MEMBERS = [
  "worker_id",
  "reattach_token",
  "engine",
  "invocation_id",
  "reason",
  "id",
  "trigger_type",
  "function_id",
  "config",
  "metadata",
  "error",
  "status",
  "unknown",
];
const members = fc.record(Object.fromEntries(MEMBERS.map((name) => [name, value])), { requiredKeys: [] });

describe("reading a message of the engine", () => {
  it.each(TYPES)("%s agrees with the protocol's schema for any members", (type) => {
    fc.assert(
      fc.property(members, (given) => {
        const text = JSON.stringify({ type, ...given });
        const parsed = messageSchemas[type].safeParse(JSON.parse(text));
        const read = readControlMessage(type, JSON.parse(text) as Readonly<Record<string, unknown>>);
        if (parsed.success) expect(read).toEqual(parsed.data);
        else expect(read).toEqual(expect.stringContaining(`${type}: \``));
      }),
      { numRuns: 500 },
    );
  });

  it("knows these types only", () => {
    expect(Object.keys(messageSchemas).filter(isControlType).sort()).toEqual([...TYPES].sort());
    expect(isControlType("constructor")).toBe(false);
  });
});
