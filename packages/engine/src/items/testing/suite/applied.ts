import { expect, it } from "vitest";
import { newValue, newWrite, noticeFor, type Suite, wholeScope } from "./harness.ts";

export function appliedTests(suite: Suite): void {
  it("reports each stored write with its changes, origin and mark, in order and before its promise settles", async () => {
    const seen: unknown[] = [];
    suite.store.onApplied(({ written: { status, item, changes }, origin, mark }) =>
      seen.push([
        mark,
        status,
        item?.json,
        item?.expiresAt,
        changes.map(({ kind, version }) => [kind, version]),
        origin,
      ]),
    );
    const notice = noticeFor(["w"]);
    const end = suite.clock.time + 10_000;
    const set = (json: string, mark: string, expiresAt?: number) =>
      suite.store.set("s", "k", newValue(json, expiresAt), newWrite({ now: suite.clock.time, notice, mark }));
    await set("1", "a").then(() => seen.push("a settled"));
    await Promise.all([
      set("2", "b", end).then(() => seen.push("b settled")),
      suite.store.set("s", "k", newValue("9"), newWrite({ ifVersion: 7, mark: "in conflict" })),
      suite.store.update(
        "s",
        "k",
        { ops: [{ type: "increment", path: "", by: 1 }], atomic: true, maxBytes: 100, expiresAt: "keep" },
        newWrite({ now: suite.clock.time, mark: "c" }),
      ),
      set("3", "unchanged", end),
      suite.store.writeMany([
        { type: "set", scope: "s", key: "other", value: newValue("4"), write: newWrite({ mark: "d" }) },
        { type: "delete", scope: "s", key: "k", write: newWrite({ now: suite.clock.time, mark: "e", notice }) },
      ]),
      suite.store.delete("s", "other", newWrite({ mark: "f" })),
      suite.store.page("s", wholeScope),
    ]);
    const writes = seen.filter((one) => typeof one !== "string");
    expect(writes).toEqual([
      ["a", "written", "1", undefined, [["created", 1]], notice.origin],
      ["b", "written", "2", end, [["updated", 2]], notice.origin],
      ["c", "written", "3", end, [["updated", 3]], undefined],
      ["unchanged", "unchanged", "3", end, [], notice.origin],
      ["d", "written", "4", undefined, [["created", 1]], undefined],
      ["e", "written", undefined, undefined, [["deleted", 4]], notice.origin],
      ["f", "written", undefined, undefined, [["deleted", 2]], undefined],
    ]);
    expect(seen.slice(0, 2)).toEqual([writes[0], "a settled"]);
    expect(seen.indexOf("b settled")).toBeGreaterThan(seen.indexOf(writes[1]));
  });
}
