import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { character } from "./testing/arbitraries.ts";
import { tokenOfSubprotocols, tokenSubprotocols } from "./token-subprotocol.ts";

describe("a token as a subprotocol", () => {
  it("is decoded unchanged, from any order of offers, and has only characters that the header allows", () => {
    fc.assert(
      fc.property(
        fc
          .string({ unit: character, minLength: 1, maxLength: 64 })
          .filter((token) => new TextDecoder().decode(new TextEncoder().encode(token)) === token),
        (token) => {
          const offers = tokenSubprotocols(token);
          for (const offer of offers) expect(offer).toMatch(/^[A-Za-z0-9._-]+$/);
          expect(tokenOfSubprotocols(offers.join(", "))).toBe(token);
          expect(tokenOfSubprotocols(`other,${offers.toReversed().join(",")}`)).toBe(token);
        },
      ),
    );
  });

  it("has the documented form", () => {
    expect(tokenSubprotocols("sécret?>")).toEqual(["svc", "svc.token.c8OpY3JldD8-"]);
  });

  it("keeps a byte order mark", () => {
    expect(tokenOfSubprotocols(tokenSubprotocols("\ufeffx").join())).toBe("\ufeffx");
  });

  it("is missing if none is offered", () => {
    expect(tokenOfSubprotocols(undefined)).toBeUndefined();
    expect(tokenOfSubprotocols("svc, graphql-ws")).toBeUndefined();
  });

  it.each([
    "svc.token.",
    "svc.token.a b",
    "svc.token.a=",
    "svc.token.a",
    "svc.token._w",
    `svc.token.${"A".repeat(5464)}`,
    "svc.token.YQ, svc.token.Yg",
  ])("is bad in %.40s", (header) => {
    expect(tokenOfSubprotocols(header)).toBeNull();
  });

  it("is rejected if it is empty or too long", () => {
    expect(() => tokenSubprotocols("")).toThrow(TypeError);
    expect(() => tokenSubprotocols("x".repeat(4097))).toThrow(TypeError);
  });
});
