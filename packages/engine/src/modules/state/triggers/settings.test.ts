import { describe, expect, it } from "vitest";
import { CHANGE_KINDS, stateTriggerSettings } from "./settings.ts";

const all = stateTriggerSettings(CHANGE_KINDS);

describe("the config of a state trigger", () => {
  it("is about every change unless it says otherwise", () => {
    const settings = all.parse({});
    expect(settings).toMatchObject({ scope: undefined, key: undefined, prefix: "", maxAttempts: 5 });
    expect([...settings.kinds]).toEqual(["created", "updated", "deleted"]);
    expect(
      all.parse({
        scope: null,
        key: null,
        prefix: null,
        event_types: null,
        condition_function_id: null,
        max_attempts: null,
      }),
    ).toEqual(settings);
  });

  it("takes event types with and without `state:`, and only those that its type is about", () => {
    expect([...all.parse({ event_types: ["deleted", "state:created"] }).kinds]).toEqual(["created", "deleted"]);
    const created = stateTriggerSettings(["created"]);
    expect([...created.parse({}).kinds]).toEqual(["created"]);
    expect(created.safeParse({ event_types: ["deleted"] }).error?.issues[0]?.message).toMatch(
      /contains no change of this trigger type/,
    );
  });

  it.each([
    { scope: "" },
    { key: "__proto__" },
    { key: "a", prefix: "b" },
    { event_types: [] },
    { event_types: ["changed"] },
    { max_attempts: 0 },
    { max_attempts: 101 },
    { prefix: "\ud800" },
    { scpoe: "s" },
  ])("refuses %j", (config) => {
    expect(all.safeParse(config).success).toBe(false);
  });
});
