import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { didYouMean, nearestName } from "./nearest-name.ts";

const modules = ["svc-http", "svc-state", "svc-stream", "svc-queue"];

describe("nearestName", () => {
  it.each([
    ["svc-sate", "svc-state"],
    ["svc_state", "svc-state"],
    ["SVC-HTTP", "svc-http"],
    ["svc-htpt", "svc-http"],
    ["svc-steam", "svc-stream"],
  ])("takes %s for %s", (written, meant) => {
    expect(nearestName(written, modules)).toBe(meant);
  });

  it("finds nothing near a name of another kind", () => {
    expect(nearestName("math-worker", modules)).toBeUndefined();
    expect(nearestName("x", modules)).toBeUndefined();
    expect(nearestName("", modules)).toBeUndefined();
    expect(nearestName("s".repeat(10_000), modules)).toBeUndefined();
  });

  it("finds every name itself", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 64 }), (name) => nearestName(name, ["zzzzzzzzzzzz", name]) !== undefined),
    );
  });

  it("ends a message with the name, or with nothing", () => {
    expect(didYouMean("svc-sate", modules)).toBe("; did you mean svc-state?");
    expect(didYouMean("billing", modules)).toBe("");
  });
});
