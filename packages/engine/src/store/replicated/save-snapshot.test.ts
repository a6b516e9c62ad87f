import { describe, expect, it } from "vitest";
import { isSnapshotDue } from "./save-snapshot.ts";
import type { KeptSnapshot } from "./seeds.ts";

const snapshot = (position: number, logBytes: number, bytes = 10): KeptSnapshot => ({
  ...{ id: String(position), identity: "log", node: "a", position, logBytes, bytes },
});
const log = (first: number, last: number, bytes: number) => ({ identity: "log", first, last, bytes });

describe("a snapshot is due when the log has grown", () => {
  it.each([
    ["from its start, by less than the threshold", log(1, 9, 99), [], false],
    ["from its start", log(1, 10, 100), [], true],
    ["since the only snapshot, by less", log(1, 19, 199), [snapshot(10, 100)], false],
    ["since the only snapshot", log(1, 20, 200), [snapshot(10, 100)], true],
    ["since it was cut at the second newest, by less", log(11, 29, 199), [snapshot(20, 200), snapshot(10, 100)], false],
    ["since it was cut at the second newest", log(11, 30, 200), [snapshot(20, 200), snapshot(10, 100)], true],
    ["since it was cut further back, by less", log(6, 29, 240), [snapshot(20, 200), snapshot(10, 100)], false],
    ["since it was cut further back", log(6, 30, 250), [snapshot(20, 200), snapshot(10, 100)], true],
    ["by less than half of the replica", log(1, 20, 200), [snapshot(10, 100, 202)], false],
    ["by half of the replica", log(1, 20, 201), [snapshot(10, 100, 202)], true],
  ])("%s", (_, state, kept, isDue) => {
    expect(isSnapshotDue({ state, kept }, 100)).toBe(isDue);
  });

  it("or was cut, and no snapshot reaches to its first entry", () => {
    expect(isSnapshotDue({ state: log(11, 12, 1), kept: [] }, 100)).toBe(true);
    expect(isSnapshotDue({ state: log(11, 12, 1), kept: [snapshot(9, 90)] }, 100)).toBe(true);
    expect(isSnapshotDue({ state: log(11, 12, 1), kept: [snapshot(10, 100)] }, 100)).toBe(false);
  });

  it("and is counted anew from a snapshot whose predecessors were lost", () => {
    // The snapshot was made when 70 bytes were left in a log that had been cut.
    expect(isSnapshotDue({ state: log(11, 26, 160), kept: [snapshot(17, 70)] }, 100)).toBe(false);
    expect(isSnapshotDue({ state: log(11, 27, 170), kept: [snapshot(17, 70)] }, 100)).toBe(true);
  });
});
