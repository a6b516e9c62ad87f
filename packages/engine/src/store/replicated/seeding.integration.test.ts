import { describe, expect, it } from "vitest";
import { LogChanged, LogTruncated, MAX_ENTRY_BYTES } from "../log.ts";
import { saveSnapshot } from "./seeding.ts";
import { TestCluster } from "./testing/cluster.ts";
import { MemorySeeds } from "./testing/memory-seeds.ts";

const cluster = new TestCluster();

/** Writes 20 lines and two snapshots, so that the first entries of the log are gone. */
async function truncatedLog() {
  const a = await cluster.open("a");
  const seeds = new MemorySeeds();
  const add = async (from: number): Promise<void> => {
    for (let line = from; line < from + 10; line += 1) await a.store.call("add", String(line));
  };
  const save = () => saveSnapshot(a.store, { log: a.connection, seeds, draft: cluster.newFile() });
  await add(0);
  const first = await save();
  await add(10);
  await save();
  await add(20);
  return { a, seeds, first };
}

describe("a snapshot of a replica", () => {
  it("cuts the log at the one before, and is what a new replica begins with", async () => {
    const { a, seeds, first } = await truncatedLog();
    expect(cluster.log.state().first).toBe(first.position + 1);
    const b = await cluster.open("b", { seeds });
    const c = await cluster.open("c", { seeds });
    expect(await c.store.call("texts", null)).toEqual(Array.from({ length: 30 }, (_, line) => String(line)));
    expect(await cluster.hashes(a, b, c)).toHaveLength(1);
    expect(await b.store.call("add", "more")).toBe(1);
  });

  it("is needed by a replica that is new when the log was cut", async () => {
    await truncatedLog();
    await expect(cluster.open("b")).rejects.toThrow(LogTruncated);
    await expect(cluster.open("b", { seeds: new MemorySeeds() })).rejects.toThrow(LogTruncated);
  });
});

describe("a replica in a file", () => {
  it("is replaced by a snapshot if the log no longer has what it lacks, and kept if there is none", async () => {
    const file = cluster.newFile();
    const b = await cluster.open("b", { file });
    await b.store.call("add", "first");
    await b.store.abort();
    const { a, seeds } = await truncatedLog();
    await expect(cluster.open("b", { file })).rejects.toThrow(LogTruncated);
    const again = await cluster.open("b", { file, seeds });
    expect(await again.store.call("texts", null)).toHaveLength(31);
    expect(await cluster.hashes(a, again)).toHaveLength(1);
  });

  it("is refused on another log, and on one that went back", async () => {
    const file = cluster.newFile();
    const a = await cluster.open("a", { file });
    await a.store.call("add", "1");
    await a.store.call("add", "2");
    await a.store.abort();
    const { last } = cluster.log.state();
    cluster.log.goBack(last - 1);
    await expect(cluster.open("a", { file })).rejects.toThrow(LogChanged);
    cluster.log.store("another", new Uint8Array(MAX_ENTRY_BYTES));
    await expect(cluster.open("a", { file })).rejects.toThrow(/its entry \d+ is not the one that the replica has/);
    cluster.log.replace();
    await expect(cluster.open("a", { file })).rejects.toThrow(/is one of log/);
  });
});
