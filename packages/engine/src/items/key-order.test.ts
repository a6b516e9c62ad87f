import { character } from "@svc-runtime/protocol/testing/arbitraries";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareKeys, endOfPrefix } from "./key-order.ts";

const text = fc.string({ unit: character, maxLength: 8 });

describe("the order of keys", () => {
  it("is that of their UTF-8 bytes", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareKeys(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });

  it("puts exactly the keys with a prefix between the prefix and its end", () => {
    fc.assert(
      fc.property(text, text, (prefix, key) => {
        const end = endOfPrefix(prefix);
        const between = compareKeys(key, prefix) >= 0 && (end === undefined || compareKeys(key, end) < 0);
        expect(between).toBe(key.startsWith(prefix));
      }),
    );
  });
});
