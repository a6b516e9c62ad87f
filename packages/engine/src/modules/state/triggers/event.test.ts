import { describe, expect, it } from "vitest";
import { eventPayload } from "./event.ts";

const change = { scope: 's"', key: "k\u0000", version: 7, at: Date.UTC(2026, 0, 2), kind: "updated" } as const;

describe("the event that a bound function gets", () => {
  it("contains the stored JSON texts with all digits", () => {
    const payload = eventPayload({ ...change, previous: "1", json: '{"n":123456789012345678901234567890}' });
    expect(payload.text()).toContain('"new_value":{"n":123456789012345678901234567890}');
    expect(payload.value()).toEqual({
      type: "state",
      event_type: "state:updated",
      scope: 's"',
      key: "k\u0000",
      old_value: 1,
      new_value: { n: Number("123456789012345678901234567890") },
      version: 7,
      updated_at: "2026-01-02T00:00:00.000Z",
    });
  });

  it("has null for what is not there", () => {
    expect(eventPayload({ ...change, kind: "created", previous: undefined, json: "[]" }).value()).toMatchObject({
      old_value: null,
      new_value: [],
    });
    expect(eventPayload({ ...change, kind: "deleted", previous: "[]", json: undefined }).value()).toMatchObject({
      old_value: [],
      new_value: null,
    });
  });

  it("leaves the old value out, and says so, when both do not fit a frame", () => {
    const large = JSON.stringify("x".repeat(8 * 1024 * 1024));
    const payload = eventPayload({ ...change, previous: large, json: large });
    expect(payload.value()).toMatchObject({ old_value: null, old_value_omitted: true, version: 7 });
    expect(payload.byteLength).toBeLessThan(9 * 1024 * 1024);
  });
});
