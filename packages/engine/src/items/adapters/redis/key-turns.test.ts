import { describe, expect, it } from "vitest";
import { KeyTurns } from "./key-turns.ts";

describe("turns on keys", () => {
  it("run jobs on one name one after another, and those on others at once", () => {
    const turns = new KeyTurns();
    const ran: string[] = [];
    const releases: (() => void)[] = [];
    for (const [label, name] of [
      ["a1", "a"],
      ["a2", "a"],
      ["b1", "b"],
    ] as const) {
      turns.take([name], (release) => {
        ran.push(label);
        releases.push(release);
      });
    }
    expect(ran).toEqual(["a1", "b1"]);
    releases[0]?.();
    expect(ran).toEqual(["a1", "b1", "a2"]);
  });

  it("run a job on several names when all before it on any of them are done, and hold back those behind it", () => {
    const turns = new KeyTurns();
    const ran: string[] = [];
    const releases = new Map<string, () => void>();
    const take = (label: string, names: readonly string[]) =>
      turns.take(names, (release) => {
        ran.push(label);
        releases.set(label, release);
      });
    take("a", ["a"]);
    take("b", ["b"]);
    take("both", ["a", "b", "a"]);
    take("after", ["b"]);
    releases.get("a")?.();
    expect(ran).toEqual(["a", "b"]);
    releases.get("b")?.();
    expect(ran).toEqual(["a", "b", "both"]);
    releases.get("both")?.();
    expect(ran).toEqual(["a", "b", "both", "after"]);
  });

  it("run any number of jobs that are done at once, in order", () => {
    const turns = new KeyTurns();
    const ran: number[] = [];
    let releaseFirst = () => {};
    turns.take(["a"], (release) => {
      releaseFirst = release;
    });
    for (let index = 0; index < 50_000; index++) {
      turns.take(["a"], (release) => {
        ran.push(index);
        release();
      });
    }
    releaseFirst();
    expect(ran).toEqual(Array.from({ length: 50_000 }, (_, index) => index));
  });
});
