import { expect, it } from "vitest";
import { maskedPreview } from "./secrets.ts";

it("masks secrets by the names of members, at any depth", () => {
  expect(maskedPreview('{"user":"a","password":"hun\\"ter2","inner":{"api_key":12,"x":true}}', 200)).toBe(
    '{"user":"a","password":"••••••","inner":{"api_key":"••••••","x":true}}',
  );
});

it("shows nothing behind a secret that is an object", () => {
  const shown = maskedPreview('{"name":"a","token":{"value":"s3cret"},"rest":"s3cret too"}', 200);
  expect(shown).toBe('{"name":"a","token":"••••••" …');
});

it("masks a secret whose value is cut off by the length", () => {
  expect(maskedPreview(`{"password":"${"x".repeat(10_000)}"}`, 40)).not.toContain("xx");
});

it("makes one line of the beginning", () => {
  expect(maskedPreview('{\n  "a": 1\n}', 100)).toBe('{ "a": 1 }');
  expect(maskedPreview(JSON.stringify("y".repeat(500)), 20)).toBe(`"${"y".repeat(19)}…`);
});
