import { describe, expect, it } from "vitest";
import { firingIn, withFiring, withoutFiring } from "./firing-baggage.ts";

const firing = `${"1".repeat(32)}-${"2".repeat(16)}`;
const other = `${"3".repeat(32)}-${"4".repeat(16)}`;

describe("the baggage of a firing", () => {
  it("names it beside what was there, instead of another one", () => {
    expect(withFiring(undefined, firing)).toBe(`svc.firing=${firing}`);
    expect(withFiring("a=b;p=1,c=d", firing)).toBe(`a=b;p=1,c=d,svc.firing=${firing}`);
    for (const baggage of [`svc.firing=${other}`, ` svc.firing=${other} `]) expect(withFiring(baggage, firing)).toBe(`svc.firing=${firing}`);
    expect(withFiring(`a=b, svc.firing=${other} ,c=d`, firing)).toBe(`a=b,c=d,svc.firing=${firing}`);
    expect(withoutFiring(withFiring("a=b", firing))).toBe("a=b");
    expect(withoutFiring(withFiring(undefined, firing))).toBeUndefined();
  });

  it("is read only where it is one", () => {
    expect(firingIn(`a=b,svc.firing=${firing},c=d`)).toBe(firing);
    for (const baggage of [undefined, "", "a=b", "svc.firing=", "svc.firing=x", `xsvc.firing=${firing}`, `svc.firing=${firing}0`]) {
      expect(firingIn(baggage)).toBeUndefined();
    }
  });

  it("is left out where there is no room for it", () => {
    const full = `a=${"b".repeat(8_180)}`;
    expect(withFiring(full, firing)).toBe(full);
  });
});
