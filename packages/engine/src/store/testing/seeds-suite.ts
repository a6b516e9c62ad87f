import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { NewSnapshot, SeedClaim, Seeds } from "../replicated/seeds.ts";

/** Larger than two parts of any implementation, and no multiple of them. */
const SIZE = 1_200_001;

/** Guarantees of all places where snapshots are kept. `open` opens a new one, as two engines reach it. */
export function seedsSuite(name: string, open: () => Promise<{ readonly one: Seeds; readonly other: Seeds }>): void {
  describe(`snapshots in ${name}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-seeds-"));
    let files = 0;
    let one: Seeds;
    let other: Seeds;
    beforeEach(async () => {
      ({ one, other } = await open());
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    const newFile = (): string => join(folder, String(files++));
    const snapshotAt = (position: number, identity = "log"): NewSnapshot => ({
      ...{ identity, position, node: "a", logBytes: position * 100 },
    });
    async function claimed(seeds: Seeds, run: string): Promise<SeedClaim> {
      const claim = await seeds.claim(run, () => true);
      if (claim === undefined) throw new Error("the claim is taken");
      return claim;
    }
    async function put(seeds: Seeds, snapshot: NewSnapshot, fill = snapshot.position): Promise<Uint8Array> {
      const file = newFile();
      const content = Buffer.alloc(SIZE, fill);
      content.write("the last bytes", SIZE - 14);
      writeFileSync(file, content);
      const claim = await claimed(seeds, "run");
      await claim.put(snapshot, file).finally(() => claim.release());
      return content;
    }
    const positions = async (seeds: Seeds, identity = "log"): Promise<readonly number[]> =>
      (await seeds.list(identity)).map(({ position }) => position);

    it("can be copied by each engine, the newest two", async () => {
      expect(await positions(one)).toEqual([]);
      const contents = [];
      for (const position of [1, 2, 3]) contents.push(await put(one, snapshotAt(position)));
      expect(await positions(other)).toEqual([3, 2]);
      for (const kept of await other.list("log")) {
        const file = newFile();
        await other.copy(kept, file);
        expect(readFileSync(file).equals(contents[kept.position - 1] ?? Buffer.of())).toBe(true);
        expect(kept).toMatchObject({ ...snapshotAt(kept.position), bytes: SIZE });
      }
    });

    it("belong to one log; those of a log that was replaced are removed", async () => {
      await put(one, snapshotAt(1));
      await put(one, snapshotAt(2, "next"));
      expect(await positions(other)).toEqual([]);
      expect(await positions(other, "next")).toEqual([2]);
    });

    it("cannot be copied when they are not kept any more", async () => {
      await put(one, snapshotAt(1));
      const [first] = await other.list("log");
      await put(one, snapshotAt(2));
      await put(one, snapshotAt(3));
      if (first === undefined) throw new Error("no snapshot was kept");
      await expect(other.copy(first, newFile())).rejects.toThrow("is not kept any more");
    });

    it("leave no file when their copying is given up", async () => {
      await put(one, snapshotAt(1));
      const [kept] = await other.list("log");
      if (kept === undefined) throw new Error("no snapshot was kept");
      const [file, signal] = [newFile(), AbortSignal.abort()];
      await expect(other.copy(kept, file, { signal })).rejects.toMatchObject({ name: "AbortError" });
      expect(existsSync(file)).toBe(false);
    });

    it("are refused if one that is as new is kept, and if the store ended meanwhile", async () => {
      await put(one, snapshotAt(2));
      for (const position of [1, 2])
        await expect(put(other, snapshotAt(position))).rejects.toThrow("is stored already");
      const claim = await claimed(one, "run");
      const ending = new AbortController();
      const file = newFile();
      writeFileSync(file, "x");
      const stored = claim.put(snapshotAt(3), file, ending.signal);
      ending.abort();
      await expect(stored).rejects.toThrow();
      await claim.release();
      expect(await positions(one)).toEqual([2]);
    });

    it("are made by one run of two that want to at the same time", async () => {
      await (await claimed(one, "a")).release();
      for (let round = 0; round < 3; round += 1) {
        const claims = await Promise.all([one.claim("a", () => true), other.claim("b", () => true)]);
        const [claim, ...others] = claims.filter((each) => each !== undefined);
        expect(others).toEqual([]);
        await claim?.release();
      }
    });

    it("are made by one run at a time, until it gives the claim back or is gone", async () => {
      const claim = await claimed(one, "a");
      expect(await other.claim("b", () => true)).toBeUndefined();
      await claim.release();
      const second = await claimed(other, "b");
      expect(await one.claim("a", (run) => run === "b")).toBeUndefined();
      const third = await one.claim("a", () => false);
      expect(third).toBeDefined();
      const file = newFile();
      writeFileSync(file, "x");
      await expect(second.put(snapshotAt(1), file)).rejects.toThrow("was considered dead");
      await second.release();
      expect(await other.claim("b", () => true)).toBeUndefined();
      await third?.put(snapshotAt(2), file);
      expect(await positions(other)).toEqual([2]);
    });
  });
}
