import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeByParsing,
  decodeFrame,
  decodeFrameBytes,
  encodeGuardedInvoke,
  encodeGuardedResult,
  encodePublishedInvoke,
  encodePublishedResult,
  frameText,
  type Message,
  Payload,
  type UndecodableFrame,
} from "./index.ts";

interface ValidVector {
  readonly name: string;
  readonly frame: string;
  readonly message: Record<string, unknown>;
}
interface InvalidVector {
  readonly name: string;
  readonly frame: string;
  readonly code: string;
  readonly invocation_id?: string;
  readonly message_type?: string;
}

const read = <Vector>(file: string): Vector[] =>
  JSON.parse(readFileSync(new URL(`../vectors/${file}`, import.meta.url), "utf8")) as Vector[];
const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");
const id = "0b8e5c1c-6f0a-4d6e-9a51-3c7d3f2b1a00";

/** The message with parsed payloads and without unset members. */
function plain(message: Message | UndecodableFrame): unknown {
  return JSON.parse(JSON.stringify(message));
}

describe("decodeFrame", () => {
  it.each(read<ValidVector>("valid.json"))("reads $name", ({ frame, message }) => {
    expect(plain(decodeFrame(frame, { payloadIsLast: false }))).toEqual(message);
    expect(plain(decodeByParsing(frame))).toEqual(message);
  });

  it.each(read<InvalidVector>("invalid.json"))(
    "rejects $name and reports why",
    ({ frame, code, invocation_id, message_type }) => {
      const refused = decodeFrame(frame, { payloadIsLast: false }) as UndecodableFrame;
      expect(refused.type).toBe("undecodable");
      expect(refused.error.code).toBe(code);
      expect(refused.error.message).not.toBe("");
      if (invocation_id !== undefined) expect(refused.invocationId).toBe(invocation_id);
      if (message_type !== undefined) expect(refused.messageType).toBe(message_type);
    },
  );

  it("rejects a payload that is nested deeper than the limit", () => {
    const deep = `{"type":"invokefunction","function_id":"f","data":${"[".repeat(200)}${"]".repeat(200)}}`;
    expect(decodeFrame(deep, { payloadIsLast: false })).toMatchObject({
      type: "undecodable",
      error: { code: "invalid_message" },
    });
  });

  it("keeps the text of a payload, with every digit", () => {
    const message = decodeFrame(
      '{"type":"invokefunction","function_id":"f","data":{"big":12345678901234567890,"one":1.0}}',
      { payloadIsLast: false },
    );
    expect(message.type === "invokefunction" && message.data.text()).toBe('{"big":12345678901234567890,"one":1.0}');
  });

  it("returns a large last payload as a slice of the bytes", () => {
    const data = JSON.stringify({ text: "é".repeat(5_000) });
    const bytes = Buffer.from(`{"type":"invokefunction","invocation_id":"${id}","function_id":"f","data":${data}}`);
    const message = decodeFrameBytes(bytes, { payloadIsLast: true }, toText);
    if (message.type !== "invokefunction") throw new Error(message.type);
    expect(message.data.rawBytes).toBeDefined();
    expect(message.data.text()).toBe(data);
  });

  it("decodes a large frame whose id is not ASCII by characters, not by bytes", () => {
    const data = JSON.stringify({ text: "x".repeat(5_000) });
    const bytes = Buffer.from(`{"type":"invokefunction","function_id":"caf${"é".repeat(20)}","data":${data}}`);
    const message = decodeFrameBytes(bytes, { payloadIsLast: true }, toText);
    expect(message.type === "invokefunction" && message.data.text()).toBe(data);
  });

  it("has the same result on the fast and on the slow path", () => {
    const member = fc.oneof(
      fc.constantFrom(
        '"type":"invokefunction"',
        '"type":"invocationresult"',
        '"type":"ping"',
        `"invocation_id":"${id}"`,
        '"invocation_id":null',
        '"invocation_id":"no"',
        '"function_id":"math::add"',
        '"function_id":"a\\"b"',
        '"function_id":""',
        '"function_id":7',
        '"action":{"type":"void"}',
        '"action":{"type":"enqueue","queue":"q"}',
        '"action":{"type":"x"}',
        '"timeout_ms":100',
        '"timeout_ms":1e3',
        '"timeout_ms":-1',
        '"traceparent":"00-a"',
        '"baggage":"k=v,\\u00e9"',
        '"error":{"code":"c","message":"m"}',
        '"error":null',
        '"error":{"code":1}',
        '"metadata":{"a":[1]}',
        '"\\u0064ata":5',
        '"namespace":"default"',
        '"caller":{"worker_id":"x","name":"y"}',
      ),
      fc.json().map((json) => `"data":${json}`),
      fc.json().map((json) => `"result":${json}`),
      fc.tuple(fc.string(), fc.json()).map(([key, json]) => `${JSON.stringify(key)}:${json}`),
    );
    fc.assert(
      fc.property(
        fc.array(member, { minLength: 1, maxLength: 8 }),
        fc.constantFrom("", " ", "\n"),
        (members, space) => {
          const frame = `{${space}${members.join(`${space},${space}`)}${space}}`;
          expect(plain(decodeFrame(frame, { payloadIsLast: false }))).toEqual(plain(decodeByParsing(frame)));
        },
      ),
      { numRuns: 500 },
    );
  });

  it("never throws, for any input", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.string().map((tail) => `{"type":"invokefunction","function_id":"f","data":${tail}`),
        ),
        fc.boolean(),
        (frame, payloadIsLast) => {
          expect(decodeFrame(frame, { payloadIsLast })).toHaveProperty("type");
          expect(decodeFrameBytes(Buffer.from(frame.padEnd(3_000, "}")), { payloadIsLast }, toText)).toHaveProperty(
            "type",
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("encoding", () => {
  const trusted = { invocationId: id, functionId: "math::add", traceparent: undefined, baggage: undefined };

  it("lets nothing inside an unread payload override the members that the receiver uses", () => {
    const forged = "11111111-1111-4111-8111-111111111111";
    const smuggle = fc.constantFrom(
      `1,"invocation_id":"${forged}"`,
      `{},"function_id":"other","caller":{"worker_id":"forged","name":"forged"},"x":{}`,
      `null,"type":"registerfunction","id":"stolen"`,
      `1,"error":{"code":"forged","message":"m"}`,
      `1,"job":{"queue":"q","id":"1","attempt":1},"timeout_ms":5,"action":{"type":"void"},"metadata":{"forged":true}`,
    );
    fc.assert(
      fc.property(
        fc.oneof(
          smuggle,
          fc.tuple(smuggle, fc.string()).map(([a, b]) => a + b),
          fc.string(),
        ),
        (text) => {
          for (const encode of [encodeGuardedInvoke, encodeGuardedResult]) {
            const payload = Payload.fromBytes(Buffer.from(text));
            const frame = frameText(encode({ ...trusted, data: payload, result: payload }));
            let received: Record<string, unknown>;
            try {
              received = JSON.parse(frame) as Record<string, unknown>;
            } catch {
              continue; // The receiver drops such a frame and answers it by the id in its tail.
            }
            expect(received.invocation_id).toBe(id);
            expect(received.function_id).toBe("math::add");
            expect(received.type).toBe(encode === encodeGuardedInvoke ? "invokefunction" : "invocationresult");
            const actedOn =
              encode === encodeGuardedInvoke
                ? ["caller", "job", "timeout_ms", "metadata", "action", "traceparent", "baggage"]
                : ["error", "traceparent", "baggage"];
            for (const member of actedOn) expect(received[member]).toBeNull();
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it("writes the published wire without svc's own members", () => {
    const frame = JSON.parse(
      frameText(
        encodePublishedInvoke({
          ...trusted,
          data: Payload.fromValue({ a: 1 }),
          timeoutMs: 5,
          caller: { worker_id: "w", name: "n" },
        }),
      ),
    );
    expect(frame).toEqual({ type: "invokefunction", invocation_id: id, function_id: "math::add", data: { a: 1 } });
    const failed = JSON.parse(
      frameText(encodePublishedResult({ ...trusted, error: { code: "c", message: "m", details: { secret: 1 } } })),
    );
    expect(failed).toEqual({
      type: "invocationresult",
      invocation_id: id,
      function_id: "math::add",
      error: { code: "c", message: "m" },
    });
    expect(JSON.parse(frameText(encodePublishedResult(trusted)))).not.toHaveProperty("result");
  });
});
