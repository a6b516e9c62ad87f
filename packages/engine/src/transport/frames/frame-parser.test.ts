import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { FrameParser } from "./frame-parser.ts";
import { PayloadPieces } from "./payload-pieces.ts";
import { clientFrame } from "./testing/client-frame.ts";
import { unmask, wordsBelow } from "./unmask.ts";

const MAX_BYTES = 100_000;

/** What a parser reports of these bytes, read in chunks of `chunkBytes`. */
function report(bytes: Buffer, chunkBytes = bytes.length): string[] {
  const reported: string[] = [];
  const parser = new FrameParser(
    {
      onMessage: (message, kind) => reported.push(`${kind} ${message.toString("latin1")}`),
      onPing: (payload) => reported.push(`ping ${payload}`),
      onPong: () => reported.push("pong"),
      onClose: (code, reason) => reported.push(`close ${code} ${reason}`),
      onViolation: ({ code }) => reported.push(`violation ${code}`),
    },
    MAX_BYTES,
  );
  // Parsers unmask in place.
  const copy = Buffer.from(bytes);
  for (let at = 0; at < copy.length; at += chunkBytes) parser.read(copy.subarray(at, at + chunkBytes));
  return reported;
}

const text = (value: string | Buffer, first = 0x81): Buffer => clientFrame(first, Buffer.from(value));
const closeFrame = (code: number, reason: string | Buffer = ""): Buffer =>
  text(Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]), 0x88);

// The cases follow the sections of RFC 6455.
describe("a parser of client frames", () => {
  it.each([0, 1, 125, 126, 127, 4_096, 65_535, 65_536, MAX_BYTES])(
    "reads messages of %i bytes, whole and in pieces (5.2)",
    (size) => {
      const payload = Buffer.alloc(size, "abc");
      for (const [first, kind] of [
        [0x81, "text"],
        [0x82, "binary"],
      ] as const) {
        const bytes = Buffer.concat([text(payload, first), text("next")]);
        for (const chunkBytes of size > 5_000 ? [bytes.length, 1_000, 7_777] : [bytes.length, 1, 3]) {
          expect(report(bytes, chunkBytes)).toEqual([`${kind} ${payload}`, "text next"]);
        }
      }
    },
  );

  it("joins the frames of a message, also with control frames between them (5.4)", () => {
    const bytes = Buffer.concat([
      text("a", 0x01),
      text("", 0x00),
      text("p", 0x89),
      text("b", 0x00),
      text("q", 0x8a),
      text("c", 0x80),
      text("d"),
    ]);
    for (const chunkBytes of [bytes.length, 1, 5])
      expect(report(bytes, chunkBytes)).toEqual(["ping p", "pong", "text abc", "text d"]);
    expect(report(Buffer.concat([text("x", 0x02), text("y", 0x80)]))).toEqual(["binary xy"]);
  });

  it.each([
    ["a reserved bit", text("a", 0xc1)],
    ["an unknown opcode of data", text("a", 0x83)],
    ["an unknown opcode of control", text("a", 0x8b)],
    ["no mask", Buffer.from([0x81, 0x01, 0x61])],
    ["a control frame in fragments", text("a", 0x09)],
    ["a control frame of 126 bytes", text("a".repeat(126), 0x89)],
    ["a continuation of nothing", text("a", 0x80)],
    ["a message within another", Buffer.concat([text("a", 0x01), text("b", 0x81)])],
    ["a close frame of one byte", text("a", 0x88)],
  ])("reports a violation of the protocol: %s (5.2 to 5.5)", (_what, bytes) => {
    for (const chunkBytes of [bytes.length, 1])
      expect(report(Buffer.concat([bytes, text("next")]), chunkBytes)).toEqual(["violation 1002"]);
  });

  it("reports a violation as soon as the header shows it", () => {
    expect(report(Buffer.from([0x81, 0x01]))).toEqual(["violation 1002"]);
    expect(report(text(Buffer.alloc(MAX_BYTES + 1)).subarray(0, 10))).toEqual(["violation 1009"]);
    expect(report(Buffer.from([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))).toEqual([
      "violation 1009",
    ]);
  });

  it("limits a message in fragments like one in a single frame", () => {
    const half = Buffer.alloc(MAX_BYTES / 2, "a");
    expect(report(Buffer.concat([text(half, 0x01), text(half, 0x80)]))).toEqual([`text ${half}${half}`]);
    expect(report(Buffer.concat([text(half, 0x01), text(half, 0x00), text("a", 0x80)]))).toEqual(["violation 1009"]);
  });

  it("accepts only valid UTF-8 as text, also across fragments (5.6, 8.1)", () => {
    const euro = Buffer.from("€");
    expect(report(Buffer.concat([text(euro.subarray(0, 1), 0x01), text(euro.subarray(1), 0x80)]))).toEqual([
      `text ${euro.toString("latin1")}`,
    ]);
    for (const invalid of [
      [0xc3, 0x28],
      [0xe2, 0x82],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xc0, 0xaf],
    ]) {
      expect(report(Buffer.concat([text(Buffer.from(invalid)), text("next")]))).toEqual(["violation 1007"]);
      expect(report(Buffer.concat([text(Buffer.from(invalid), 0x01), text("", 0x80)]))).toEqual(["violation 1007"]);
      expect(report(text(Buffer.from(invalid), 0x82))).toEqual([`binary ${Buffer.from(invalid).toString("latin1")}`]);
    }
  });

  it("reads the close frame, and nothing after it (5.5.1, 7.4)", () => {
    expect(report(Buffer.concat([text("", 0x88), text("next")]))).toEqual(["close 1005 "]);
    expect(report(Buffer.concat([closeFrame(1000, "bye"), text("next")]), 1)).toEqual(["close 1000 bye"]);
    for (const code of [1001, 1002, 1003, 1007, 1011, 1014, 3000, 4999])
      expect(report(closeFrame(code))).toEqual([`close ${code} `]);
    for (const code of [0, 999, 1004, 1005, 1006, 1015, 1100, 2999, 5000, 65_535])
      expect(report(closeFrame(code))).toEqual(["violation 1002"]);
    expect(report(closeFrame(1000, Buffer.from([0xff])))).toEqual(["violation 1007"]);
  });
});

it("unmasks like one byte at a time, at any offset and phase (5.3)", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.nat(700), fc.nat(5_000)),
      fc.nat(9),
      fc.nat(9),
      fc.nat(9),
      (length, offset, tail, phase) => {
        const bytes = randomBytes(offset + length + tail);
        const mask = randomBytes(6);
        const expected = bytes.map((byte, at) =>
          at < offset || at >= offset + length ? byte : byte ^ (mask[2 + ((at - offset + phase) % 4)] as number),
        );
        const actual = Buffer.from(bytes);
        unmask(actual, wordsBelow(actual), offset, offset + length, mask, 2, phase);
        expect(actual.equals(expected)).toBe(true);
      },
    ),
  );
});

it("holds no more than three times the payload of a message in fragments that arrive between other frames", () => {
  const pieces = new PayloadPieces();
  const buffers = new Set<ArrayBufferLike>();
  const concat = Buffer.concat;
  for (let n = 0; n < 500; n++)
    for (const length of [1, 4_096]) pieces.add(Buffer.allocUnsafeSlow(65_536).subarray(100, 100 + length));
  vi.spyOn(Buffer, "concat").mockImplementationOnce((list) => {
    for (const { buffer } of list) buffers.add(buffer);
    return concat(list);
  });
  expect(pieces.join()).toHaveLength(500 * 4_097);
  expect([...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(3 * pieces.bytes);
});

it("joins pieces of any sizes, small ones in blocks that they share", () => {
  const sizes = fc.array(fc.oneof(fc.nat(20), fc.integer({ min: 3_000, max: 20_000 })), { maxLength: 30 });
  fc.assert(
    fc.property(sizes, (lengths) => {
      const pieces = new PayloadPieces();
      const all = lengths.map((length) => randomBytes(length));
      for (const piece of all) pieces.add(piece);
      expect(pieces.bytes).toBe(lengths.reduce((sum, length) => sum + length, 0));
      expect(pieces.join().equals(Buffer.concat(all))).toBe(true);
    }),
    { numRuns: 50 },
  );
});
