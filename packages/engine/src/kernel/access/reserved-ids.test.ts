import { expect, it } from "vitest";
import { ReservedIds } from "./reserved-ids.ts";

const PREFIXED = "is reserved: ids that begin with";

it("the longest prefix that is held decides, and a prefix goes with the last that holds it", () => {
  const reserved = new ReservedIds(() => false);
  const undo = [reserved.hold("a"), reserved.hold("a"), reserved.hold("a::b")];
  expect(reserved.refusalOfFunction("a::b::c", "a")).toBe(`a::b::c ${PREFIXED} a::b:: belong to another`);
  expect(reserved.refusalOfFunction("a::b::c", "a::b")).toBeUndefined();
  expect(reserved.refusalOfFunction("a::c", undefined)).toBe(`a::c ${PREFIXED} a:: belong to another`);
  expect(reserved.refusalOfFunction("ab::c", undefined)).toBeUndefined();
  expect(reserved.refusalOfFunction("a", undefined)).toBeUndefined();
  undo[2]?.();
  expect(reserved.refusalOfFunction("a::b::c", undefined)).toBe(`a::b::c ${PREFIXED} a:: belong to another`);
  undo[0]?.();
  expect(reserved.refusalOfFunction("a::c", undefined)).toBeDefined();
  undo[1]?.();
  expect(reserved.refusalOfFunction("a::c", undefined)).toBeUndefined();
});

it("ids of trusted workers stay reserved until they are released, the latest 100,000", () => {
  const reserved = new ReservedIds(() => false);
  reserved.remember("function", "pay");
  expect([reserved.isOfTrusted("function", "pay"), reserved.isOfTrusted("trigger type", "pay")]).toEqual([true, false]);
  reserved.release("function", "pay");
  expect(reserved.isOfTrusted("function", "pay")).toBe(false);
  for (let index = 0; index <= 100_000; index++) reserved.remember("trigger type", `t${index}`);
  expect([reserved.isOfTrusted("trigger type", "t0"), reserved.isOfTrusted("trigger type", "t1")]).toEqual([false, true]);
});
