import { describe, expect, it } from "vitest";
import { KeyedLocks } from "./keyed-locks.ts";

describe("keyed locks", () => {
  it("run jobs on one key one after another, and jobs on other keys at once", () => {
    const locks = new KeyedLocks();
    const ran: string[] = [];
    const releases: (() => void)[] = [];
    for (const [label, name] of [
      ["a1", "a"],
      ["a2", "a"],
      ["b1", "b"],
    ] as const) {
      locks.acquire([name], (release) => {
        ran.push(label);
        releases.push(release);
      });
    }
    expect(ran).toEqual(["a1", "b1"]);
    releases[0]?.();
    expect(ran).toEqual(["a1", "b1", "a2"]);
  });

  it("run a job on several keys after all earlier jobs on these keys, and block later ones", () => {
    const locks = new KeyedLocks();
    const ran: string[] = [];
    const releases = new Map<string, () => void>();
    const acquire = (label: string, names: readonly string[]) =>
      locks.acquire(names, (release) => {
        ran.push(label);
        releases.set(label, release);
      });
    acquire("a", ["a"]);
    acquire("b", ["b"]);
    acquire("both", ["a", "b", "a"]);
    acquire("after", ["b"]);
    releases.get("a")?.();
    expect(ran).toEqual(["a", "b"]);
    releases.get("b")?.();
    expect(ran).toEqual(["a", "b", "both"]);
    releases.get("both")?.();
    expect(ran).toEqual(["a", "b", "both", "after"]);
  });

  it("run many jobs that release at once, in order", () => {
    const locks = new KeyedLocks();
    const ran: number[] = [];
    let releaseFirst = () => {};
    locks.acquire(["a"], (release) => {
      releaseFirst = release;
    });
    for (let index = 0; index < 50_000; index++) {
      locks.acquire(["a"], (release) => {
        ran.push(index);
        release();
      });
    }
    releaseFirst();
    expect(ran).toEqual(Array.from({ length: 50_000 }, (_, index) => index));
  });
});
