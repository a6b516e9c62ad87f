import { character } from "@svc-runtime/protocol/testing/arbitraries";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Refusal } from "../refusal.ts";
import { decodeSegment, readTarget } from "./path.ts";

function statusOf(target: string): number {
  try {
    readTarget(target);
    return 200;
  } catch (thrown) {
    if (thrown instanceof Refusal) return thrown.failure.status;
    throw thrown;
  }
}

describe("a request target", () => {
  it("is split into path and query", () => {
    expect(readTarget("/a/b?x=1?y=/..")).toEqual({ rawPath: "/a/b", rawQuery: "x=1?y=/..", path: "/a/b" });
    expect(readTarget("/")).toEqual({ rawPath: "/", rawQuery: "", path: "/" });
    expect(readTarget("/a//b/")).toMatchObject({ path: "/a//b/" });
  });

  it("in absolute form counts by its path and query", () => {
    expect(readTarget("http://host:80/a%20b?q=1")).toEqual({ rawPath: "/a%20b", rawQuery: "q=1", path: "/a b" });
    expect(readTarget("HTTPS://host")).toMatchObject({ rawPath: "/" });
    expect(readTarget("http://host?q=1")).toMatchObject({ rawPath: "/", rawQuery: "q=1" });
    expect(statusOf("ftp://host/a")).toBe(400);
    expect(statusOf("*")).toBe(400);
  });

  it.each([
    "/a%2Fb",
    "/a%2fb",
    "/a%5Cb",
    "/a\\b",
    "/%00",
    "/a/%2e%2e/b",
    "/a/../b",
    "/.",
    "/a/.",
    "/%2E",
    "/%",
    "/%zz",
    "/%c3",
    "/%ff",
    "/a#b",
    "/caf\u00c3\u00a9",
  ])("%s is refused with 400", (target) => {
    expect(statusOf(target)).toBe(400);
  });

  it.each(["/...", "/a.b", "/.well-known/x", "/a%252Fb", "/%252e%252e", "/a%20b", "/~user/!$&'()*+,;=:@"])(
    "%s is taken",
    (target) => {
      expect(statusOf(target)).toBe(200);
    },
  );

  it("has every segment decoded exactly once", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: character }), { minLength: 1, maxLength: 5 }), (segments) => {
        const target = `/${segments.map(encodeURIComponent).join("/")}`;
        const mayNotBe = segments.some((segment) => /[/\\\0]/.test(segment) || segment === "." || segment === "..");
        expect(statusOf(target)).toBe(mayNotBe ? 400 : 200);
        if (!mayNotBe) expect(readTarget(target).path.split("/").slice(1).map(decodeRouterEscapes)).toEqual(segments);
      }),
    );
  });

  it("is either refused with 400 or decodes to a path without dot segments, whatever it is", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom(
            "/",
            ".",
            "%",
            "2",
            "e",
            "E",
            "f",
            "F",
            "5",
            "c",
            "0",
            "a",
            "\\",
            "?",
            "#",
            ":",
            "\u00ff",
          ),
          maxLength: 24,
        }),
        (tail) => {
          if (statusOf(`/${tail}`) === 400) return;
          for (const segment of readTarget(`/${tail}`).path.slice(1).split("/")) {
            const text = decodeRouterEscapes(segment);
            expect(text === "." || text === ".." || /[\\\0]/.test(text)).toBe(false);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** Reverses the three escapes that the router decodes. */
function decodeRouterEscapes(segment: string): string {
  return segment.replaceAll("%3F", "?").replaceAll("%23", "#").replaceAll("%25", "%");
}

describe("a path segment", () => {
  it("says what is wrong with it", () => {
    expect(decodeSegment("%2e")).toEqual({ problem: "is a dot segment" });
    expect(decodeSegment("a%00")).toEqual({ problem: "decodes to a slash, a backslash or NUL" });
    expect(decodeSegment("%e0%a4")).toEqual({ problem: "contains a percent escape that is not valid UTF-8" });
    expect(decodeSegment("%25")).toEqual({ text: "%" });
  });
});
