import { describe, expect, it } from "vitest";
import { otherThan, payloadOfBytes } from "./payloads.ts";

describe("payloads", () => {
  for (const bytes of [32, 100, 101, 10_240, 102_400, 1_048_576]) {
    it(`of ${bytes} bytes are JSON of exactly that length`, () => {
      const text = payloadOfBytes(bytes);
      expect(Buffer.byteLength(text)).toBe(bytes);
      expect(JSON.parse(text)).toHaveProperty("items");
    });
  }

  it("consist of records, not of one long string", () => {
    const { items, fill } = JSON.parse(payloadOfBytes(10_240)) as { items: unknown[]; fill: string };
    expect(items.length).toBeGreaterThan(100);
    expect(fill.length).toBeLessThan(100);
  });

  it("have another of the same size", () => {
    const text = payloadOfBytes(100);
    expect(otherThan(text)).toHaveLength(100);
    expect(JSON.parse(otherThan(text))).not.toEqual(JSON.parse(text));
  });

  it("reject a size that is impossible", () => {
    expect(() => payloadOfBytes(10)).toThrow("at least 32 bytes");
  });
});
