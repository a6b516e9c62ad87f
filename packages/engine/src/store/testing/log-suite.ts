import { beforeEach, describe, expect, it } from "vitest";
import { type Log, type LogEntry, LogTruncated, MAX_ENTRY_BYTES } from "../log.ts";

/** An empty log as two engines reach it. */
export interface SuiteLog {
  readonly one: Log;
  readonly other: Log;
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text);
const textOf = ({ bytes }: LogEntry): string => Buffer.from(bytes).toString();

/** Guarantees of every log. */
export function logSuite(name: string, open: () => Promise<SuiteLog>): void {
  describe(`entries of ${name}`, () => {
    let one: Log;
    let other: Log;
    beforeEach(async () => {
      ({ one, other } = await open());
    });

    /** Resolves with the first entries from a position on. */
    function entries(log: Log, from: number, count: number): Promise<readonly LogEntry[]> {
      return new Promise((resolve, reject) => {
        const seen: LogEntry[] = [];
        const follow = log.follow(
          from,
          (entry) => {
            seen.push(entry);
            if (seen.length < count) return;
            follow.stop();
            resolve(seen);
          },
          reject,
        );
      });
    }

    it("have consecutive positions, from 1 on, whichever engine appends", async () => {
      expect(await one.state()).toMatchObject({ first: 1, last: 0 });
      expect(await one.append("a", bytesOf("A"))).toBe(1);
      expect(await other.append("b", bytesOf("B"))).toBe(2);
      const { identity, bytes, ...ends } = await one.state();
      expect(bytes).toBeGreaterThanOrEqual(2);
      expect(ends).toEqual({ first: 1, last: 2 });
      expect((await other.state()).identity).toBe(identity);
    });

    it("are stored once per id", async () => {
      await one.append("a", bytesOf("A"));
      await one.append("b", bytesOf("B"));
      expect(await one.append("a", bytesOf("A"))).toBe(1);
      const twice = await Promise.all([one.append("c", bytesOf("C")), other.append("c", bytesOf("C"))]);
      expect([...twice, (await one.state()).last]).toEqual([3, 3, 3]);
    });

    it("reach each reader in order and without gaps, those from before and those from later", async () => {
      for (const text of ["A", "B"]) await one.append(text, bytesOf(text));
      const seen = Promise.all([entries(one, 1, 40), entries(other, 2, 39)]);
      await Promise.all(
        Array.from({ length: 38 }, (_, index) => [one, other][index % 2]?.append(`${index}`, bytesOf(`${index}`))),
      );
      const [all, some] = await seen;
      expect(all.map(({ position }) => position)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
      // Entries are read in several ways, which return different subclasses of Uint8Array.
      const contents = (seen: readonly LogEntry[]) => seen.map((entry) => [entry.position, entry.id, textOf(entry)]);
      expect(contents(some)).toEqual(contents(all.slice(1)));
      expect(all.slice(0, 2).map(textOf)).toEqual(["A", "B"]);
      expect(new Set(all.map(({ id }) => id)).size).toBe(40);
    });

    it("can be as large as the limit, and are returned byte for byte", async () => {
      const bytes = new Uint8Array(MAX_ENTRY_BYTES).map((_, index) => index % 251);
      await one.append("large", bytes);
      const [entry] = await entries(other, 1, 1);
      expect(Buffer.compare(entry?.bytes ?? new Uint8Array(), bytes)).toBe(0);
    });

    it("can be read by their position", async () => {
      await one.append("a", bytesOf("A"));
      expect(await other.read(1)).toMatchObject({ position: 1, id: "a" });
      for (const position of [0, 2]) expect(await other.read(position)).toBeUndefined();
    });

    it("are gone after they were truncated, and the rest keeps its positions", async () => {
      for (const text of ["A", "B", "C"]) await one.append(text, bytesOf(text));
      await one.truncate(3);
      expect(await other.state()).toMatchObject({ first: 3, last: 3 });
      expect(await other.read(2)).toBeUndefined();
      expect((await entries(other, 3, 1)).map(textOf)).toEqual(["C"]);
      await expect(entries(other, 2, 1)).rejects.toThrow(LogTruncated);
      expect(await one.append("d", bytesOf("D"))).toBe(4);
      await one.truncate(5);
      expect(await one.state()).toMatchObject({ first: 5, last: 4, bytes: 0 });
    });
  });
}
