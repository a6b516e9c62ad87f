import { expect, it } from "vitest";
import { ReservedIds } from "./reserved-ids.ts";

it("the longest prefix that is held decides, and a prefix goes with the last that holds it", () => {
  const reserved = new ReservedIds();
  const undo = [reserved.hold("a"), reserved.hold("a"), reserved.hold("a::b")];
  expect(reserved.prefixOf("a::b::c")).toBe("a::b");
  expect(reserved.prefixOf("a::c")).toBe("a");
  expect(reserved.prefixOf("ab::c")).toBeUndefined();
  expect(reserved.prefixOf("a")).toBeUndefined();
  undo[2]?.();
  expect(reserved.prefixOf("a::b::c")).toBe("a");
  undo[0]?.();
  expect(reserved.prefixOf("a::c")).toBe("a");
  undo[1]?.();
  expect(reserved.prefixOf("a::c")).toBeUndefined();
});
