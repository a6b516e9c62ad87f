import { expect, it } from "vitest";
import { ReservedIds } from "./reserved-ids.ts";
import type { AccessSettings } from "./settings.ts";

const PREFIXED = "is reserved: ids that begin with";

const NONE = { isNeededByTrusted: () => false, isCalledByTrusted: () => false, restrictedProviderOf: () => undefined };

it("the longest prefix decides, and a prefix stays reserved when the last connection that has it leaves", () => {
  const reserved = new ReservedIds(NONE);
  const undo = [reserved.hold("a"), reserved.hold("a"), reserved.hold("a::b")];
  expect(reserved.refusalOfFunction("a::b::c", "a")).toBe(`a::b::c ${PREFIXED} a::b:: belong to another principal`);
  expect(reserved.refusalOfFunction("a::b::c", "a::b")).toBeUndefined();
  expect(reserved.refusalOfFunction("a::c", undefined)).toBe(`a::c ${PREFIXED} a:: belong to another principal`);
  expect(reserved.refusalOfFunction("ab::c", undefined)).toBeUndefined();
  expect(reserved.refusalOfFunction("a", undefined)).toBeUndefined();
  for (const leave of undo) leave();
  expect(reserved.refusalOfFunction("a::b::c", "a")).toBe(`a::b::c ${PREFIXED} a::b:: belong to another principal`);
  expect(reserved.refusalOfFunction("a::c", "evil")).toBe(`a::c ${PREFIXED} a:: belong to another principal`);
  expect(reserved.refusalOfFunction("a::c", "a")).toBeUndefined();
});

it("of 100,000 prefixes the oldest one without a connection is forgotten, and no id of a trusted worker", () => {
  const reserved = new ReservedIds(NONE);
  reserved.remember("function", "pay");
  reserved.hold("connected");
  for (let index = 0; index < 100_000; index++) reserved.hold(`t${index}`)();
  const isReserved = (prefix: string): boolean => reserved.refusalOfFunction(`${prefix}::f`, undefined) !== undefined;
  expect(["connected", "t0", "t1", "t99999"].map(isReserved)).toEqual([true, false, true, true]);
  expect(reserved.isOfTrusted("function", "pay")).toBe(true);
});

it("the prefix of a role is reserved while the config has it, and not remembered", () => {
  const reserved = new ReservedIds(NONE);
  const role = { functionRegistrationPrefix: "acme" };
  reserved.configure([{ rbac: { roles: [role] } } as unknown as AccessSettings]);
  reserved.hold("acme")();
  expect(reserved.refusalOfFunction("acme::f", undefined)).toBeDefined();
  reserved.configure([]);
  expect(reserved.refusalOfFunction("acme::f", undefined)).toBeUndefined();
});

it("what is remembered is known again after a restart", () => {
  const entries = new Set<string>();
  const saved = {
    entries,
    add: (entry: string) => void entries.add(entry),
    remove: (entry: string) => void entries.delete(entry),
  };
  const before = new ReservedIds(NONE);
  before.hold("early");
  before.keepIn(saved);
  before.hold("acme");
  before.remember("function", "pay");
  before.rememberCalled("orders::late");
  const after = new ReservedIds(NONE);
  after.keepIn(saved);
  for (const id of ["early::f", "acme::f", "orders::late"])
    expect([id, after.refusalOfFunction(id, undefined)]).toEqual([id, expect.any(String)]);
  expect(after.isOfTrusted("function", "pay")).toBe(true);
  after.remember("function", "orders::late");
  after.release("function", "orders::late");
  expect(after.refusalOfFunction("orders::late", undefined)).toBeUndefined();
});

it("ids of trusted workers stay reserved until they are released, the latest 100,000", () => {
  const reserved = new ReservedIds(NONE);
  reserved.remember("function", "pay");
  expect([reserved.isOfTrusted("function", "pay"), reserved.isOfTrusted("trigger type", "pay")]).toEqual([true, false]);
  reserved.release("function", "pay");
  expect(reserved.isOfTrusted("function", "pay")).toBe(false);
  for (let index = 0; index <= 100_000; index++) reserved.remember("trigger type", `t${index}`);
  expect([reserved.isOfTrusted("trigger type", "t0"), reserved.isOfTrusted("trigger type", "t1")]).toEqual([
    false,
    true,
  ]);
});

it("a function of a restricted principal that a trusted caller named stays that principal's, over a restart too", () => {
  const entries = new Set<string>();
  const saved = {
    entries,
    add: (entry: string) => entries.add(entry),
    remove: (entry: string) => entries.delete(entry),
  };
  const before = new ReservedIds({ ...NONE, restrictedProviderOf: () => "role guest" });
  before.keepIn(saved);
  before.rememberCalled("own::work");
  const after = new ReservedIds(NONE);
  after.keepIn(saved);
  for (const reserved of [before, after]) {
    expect(reserved.refusalOfFunction("own::work", undefined, "role other")).toContain(
      "belongs to the principal that provided it",
    );
    expect(reserved.refusalOfFunction("own::work", undefined, "role guest")).toBeUndefined();
  }
  after.remember("function", "own::work");
  expect([...entries]).toEqual(["function own::work"]);
});
