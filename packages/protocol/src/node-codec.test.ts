import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeNodeFrame,
  decodeNodeMessage,
  encodeNodeFrame,
  encodeNodeHello,
  encodeNodeMessage,
  MAX_NODE_MESSAGE_BYTES,
  mirrorChangesSchema,
  type NodeFrame,
  type NodeHello,
  type NodeMessageHead,
  type NodePiece,
  splitNodeFrame,
} from "./nodes.ts";

interface FrameVector {
  readonly name: string;
  readonly frame: NodeFrame;
  readonly payload: string;
  readonly base64: string;
}
interface MessageVector {
  readonly name: string;
  readonly head?: NodeMessageHead;
  readonly pieces?: readonly { readonly last: boolean; readonly text: string }[];
  readonly hello?: NodeHello;
  readonly base64: string;
}
interface InvalidVector {
  readonly name: string;
  readonly of: "frame" | "message";
  readonly base64: string;
  readonly problem: string;
  readonly unknown?: true;
}

const read = <Vector>(file: string): Vector[] =>
  JSON.parse(readFileSync(new URL(`../vectors/node/${file}`, import.meta.url), "utf8")) as Vector[];
const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));
const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

describe("frames between nodes", () => {
  it.each(read<FrameVector>("frames.json"))("$name", ({ frame, payload, base64 }) => {
    expect(toBase64(encodeNodeFrame(frame, Buffer.from(payload)))).toBe(base64);
    const decoded = decodeNodeFrame(fromBase64(base64));
    if ("problem" in decoded) throw new Error(decoded.problem);
    expect(decoded.frame).toEqual(frame);
    expect(toText(decoded.payload)).toBe(payload);
    if (frame.type === "mirror") expect(mirrorChangesSchema.parse(JSON.parse(payload))).toEqual(JSON.parse(payload));
  });

  it.each(read<MessageVector>("messages.json"))("$name", ({ head, pieces = [], hello, base64 }) => {
    const encoded =
      hello === undefined
        ? encodeNodeMessage(
            head as NodeMessageHead,
            pieces.map(({ last, text }) => ({ isLast: last, bytes: Buffer.from(text) })),
          )
        : encodeNodeHello(hello);
    expect(toBase64(encoded)).toBe(base64);
    const decoded = decodeNodeMessage(fromBase64(base64));
    if ("problem" in decoded) throw new Error(decoded.problem);
    if (decoded.kind === "hello") expect(decoded.hello).toEqual(hello);
    else {
      expect(decoded.head).toEqual(head);
      expect(decoded.pieces.map(({ isLast, bytes }) => ({ last: isLast, text: toText(bytes) }))).toEqual(pieces);
    }
  });

  it.each(read<InvalidVector>("invalid.json"))("rejects $name", ({ of, base64, problem, unknown }) => {
    const decoded = of === "frame" ? decodeNodeFrame(fromBase64(base64)) : decodeNodeMessage(fromBase64(base64));
    expect(decoded).toEqual(unknown === true ? { problem, unknown } : { problem });
  });

  it("arrive byte for byte, in pieces that each fit into a message", () => {
    const head: NodeMessageHead = {
      from: "0b8e5c1c-6f0a-4d6e-9a51-3c7d3f2b1a00",
      session: Number.MAX_SAFE_INTEGER,
      peer_session: Number.MAX_SAFE_INTEGER,
      n: Number.MAX_SAFE_INTEGER,
      ack: Number.MAX_SAFE_INTEGER,
      granted: Number.MAX_SAFE_INTEGER,
      missing: true,
    };
    const sizes = fc.oneof(fc.nat(64), fc.integer({ min: 500_000, max: 1_200_000 }));
    fc.assert(
      fc.property(sizes, fc.nat(255), (size, seed) => {
        const payload = new Uint8Array(size).map((_, at) => at * 31 + seed);
        const pieces = splitNodeFrame(encodeNodeFrame({ type: "item", channel: 1, kind: "binary" }, payload));
        const arrived: NodePiece[] = [];
        for (const piece of pieces) {
          const bytes = encodeNodeMessage(head, [piece]);
          expect(bytes.length).toBeLessThanOrEqual(MAX_NODE_MESSAGE_BYTES);
          const message = decodeNodeMessage(bytes);
          if ("problem" in message || message.kind !== "numbered") throw new Error("not a numbered message");
          arrived.push(...message.pieces);
        }
        expect(arrived.map(({ isLast }) => isLast)).toEqual(pieces.map((_, at) => at === pieces.length - 1));
        const decoded = decodeNodeFrame(Buffer.concat(arrived.map(({ bytes }) => bytes)));
        expect("payload" in decoded && Buffer.compare(decoded.payload, payload)).toBe(0);
      }),
      { numRuns: 20 },
    );
  });

  it("never throws, whatever the bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        decodeNodeFrame(bytes);
        decodeNodeMessage(bytes);
      }),
    );
  });
});
