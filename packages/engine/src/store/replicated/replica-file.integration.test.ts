import { describe, expect, it } from "vitest";
import { openDatabase } from "../driver.ts";
import { appliedSuite } from "../testing/applied-suite.ts";
import { ledger, TestCluster } from "./testing/cluster.ts";
import { replicaKinds } from "./testing/open-on-log.ts";

for (const { name, open } of replicaKinds("file"))
  appliedSuite(name, () => open({ file: undefined, procedures: ledger }));

const cluster = new TestCluster();

describe("a node that is killed", () => {
  it("between the append and the apply of an entry applies it when it comes back", async () => {
    const [a, file] = [await cluster.open("a"), cluster.newFile()];
    let onStored = (): void => {};
    const stored = new Promise<void>((resolve) => (onStored = resolve));
    const b = await cluster.open("b", {
      file,
      faults: {
        async beforeAck(id) {
          if (!id.endsWith("/2")) return;
          // Called before the entry is delivered.
          b.connection.setUp(false);
          onStored();
        },
      },
    });
    const write = b.store.call("add", "1");
    const rejected = expect(write).rejects.toMatchObject({ code: "storage_failed", details: { outcome: "unknown" } });
    await stored;
    await b.store.abort();
    await rejected;
    const again = await cluster.open("b", { file });
    expect(await again.store.call("texts", null)).toEqual(["1"]);
    expect(await cluster.hashes(a, again)).toHaveLength(1);
  });

  it("between the parts of a large entry leaves nothing of it", async () => {
    const [a, file] = [await cluster.open("a"), cluster.newFile()];
    let onSecond = (): void => {};
    const second = new Promise<void>((resolve) => (onSecond = resolve));
    const b = await cluster.open("b", {
      file,
      faults: {
        onAppend(id) {
          if (!id.endsWith("/3")) return "none";
          onSecond();
          return "rejectedUnstored";
        },
      },
    });
    const write = b.store.call("add", "x".repeat(1_200_000));
    const rejected = expect(write).rejects.toMatchObject({ code: "storage_failed" });
    await second;
    await b.store.abort();
    await rejected;
    const again = await cluster.open("b", { file });
    await again.store.call("add", "1");
    expect(await a.store.call("texts", null)).toEqual(["1"]);
    const copy = cluster.newFile();
    await a.store.snapshot(copy);
    const database = openDatabase(copy);
    expect(database.prepare("SELECT count(*) AS parts FROM replica_parts").get()).toMatchObject({ parts: 0 });
    database.close();
    expect(await cluster.hashes(a, again)).toHaveLength(1);
  });

  it("reads only what it lacks when it comes back", async () => {
    const [a, file] = [await cluster.open("a"), cluster.newFile()];
    const b = await cluster.open("b", { file });
    await b.store.call("add", "1");
    await b.store.abort();
    await a.store.call("add", "2");
    await a.connection.truncate(cluster.log.state().last);
    const again = await cluster.open("b", { file });
    expect(await again.store.call("texts", null)).toEqual(["1", "2"]);
    expect(await cluster.hashes(a, again)).toHaveLength(1);
  });
});

describe("a replica whose thread ends", () => {
  it("goes on in a new thread, without the read that ended it", async () => {
    const a = await cluster.open("a");
    const b = await cluster.open("b", { file: cluster.newFile() });
    const [write, read] = [b.store.call("add", "1"), b.store.call("endThread", null)];
    await expect(read).rejects.toMatchObject({ code: "storage_failed" });
    expect(await write).toBe(1);
    expect(await b.store.call("add", "2")).toBe(1);
    expect(await a.store.call("texts", null)).toEqual(["1", "2"]);
    expect(await cluster.hashes(a, b)).toHaveLength(1);
  });
});

describe("a replica whose disk is full", () => {
  it("stops, and applies everything when there is room again", async () => {
    const a = await cluster.open("a", { reads: "session" });
    const b = await cluster.open("b", { file: cluster.newFile(), reads: "session" });
    // Each replica has a limit of its own now.
    await a.store.call("fillDisk", null);
    await a.store.call("freeDisk", null);
    await b.store.call("texts", null);
    const large = "x".repeat(100_000);
    expect(await a.store.call("add", large)).toBe(1);
    expect(await a.store.call("add", "after")).toBe(1);
    await expect.poll(() => b.store.problem()).toMatch(/entry \d+ of the log cannot be applied: .*full/);
    expect(await b.store.call("texts", null)).toEqual([]);
    await b.store.call("freeDisk", null);
    await expect.poll(() => b.store.problem()).toBeUndefined();
    expect(await b.store.call("texts", null)).toEqual([large, "after"]);
    expect(await cluster.hashes(a, b)).toHaveLength(1);
  });
});
