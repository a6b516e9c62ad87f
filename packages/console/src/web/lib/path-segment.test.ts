import { expect, it } from "vitest";
import { fromSegment, toSegment } from "./path-segment.ts";

it.each([".", "..", "~", "~..", "~~x", "a/b", "%2F", "a:b?c#d", "ü ✓", "\\", " "])(
  "preserves %j in the path of an address",
  (name) => {
    const url = new URL(`http://x/states/${encodeURIComponent(toSegment(name))}`);
    const parts = url.pathname.split("/");
    expect(parts).toHaveLength(3);
    expect(fromSegment(decodeURIComponent(parts[2] ?? ""))).toBe(name);
  },
);
