import { describe, expect, it } from "vitest";
import { deliveryIn, withDelivery, withoutDelivery } from "./delivery-baggage.ts";

const delivery = `${"1".repeat(32)}-${"2".repeat(16)}`;
const other = `${"3".repeat(32)}-${"4".repeat(16)}`;

describe("the baggage of a delivery", () => {
  it("names it beside what was there, instead of another one", () => {
    expect(withDelivery(undefined, delivery)).toBe(`svc.firing=${delivery}`);
    expect(withDelivery("a=b;p=1,c=d", delivery)).toBe(`a=b;p=1,c=d,svc.firing=${delivery}`);
    for (const baggage of [`svc.firing=${other}`, ` svc.firing=${other} `])
      expect(withDelivery(baggage, delivery)).toBe(`svc.firing=${delivery}`);
    expect(withDelivery(`a=b, svc.firing=${other} ,c=d`, delivery)).toBe(`a=b,c=d,svc.firing=${delivery}`);
    expect(withoutDelivery(withDelivery("a=b", delivery))).toBe("a=b");
    expect(withoutDelivery(withDelivery(undefined, delivery))).toBeUndefined();
  });

  it("is read only where it is one", () => {
    expect(deliveryIn(`a=b,svc.firing=${delivery},c=d`)).toBe(delivery);
    for (const baggage of [
      undefined,
      "",
      "a=b",
      "svc.firing=",
      "svc.firing=x",
      `xsvc.firing=${delivery}`,
      `svc.firing=${delivery}0`,
    ]) {
      expect(deliveryIn(baggage)).toBeUndefined();
    }
  });

  it("is left out where there is no room for it", () => {
    const full = `a=${"b".repeat(8_180)}`;
    expect(withDelivery(full, delivery)).toBe(full);
  });
});
