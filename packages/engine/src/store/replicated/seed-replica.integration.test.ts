import { describe, expect, it } from "vitest";
import { openDatabase } from "../driver.ts";
import { noteUnsynced } from "../failed-sync.ts";
import { LogChanged, LogTruncated, MAX_ENTRY_BYTES } from "../log.ts";
import { type SnapshotSource, saveSnapshot } from "./save-snapshot.ts";
import type { KeptSnapshot } from "./seeds.ts";
import { TestCluster, type TestNode } from "./testing/cluster.ts";
import { MemorySeeds } from "./testing/memory-seeds.ts";

const cluster = new TestCluster();

/** Writes 20 lines and two snapshots, so that the first entries of the log are gone. */
async function truncatedLog() {
  const a = await cluster.open("a");
  // So that two of three members say that their data are equal while one is away.
  await cluster.open("other");
  const seeds = new MemorySeeds();
  const add = async (from: number): Promise<void> => {
    for (let line = from; line < from + 10; line += 1) await a.store.call("add", String(line));
  };
  const save = () => saveSnapshot(a.store, { log: a.connection, seeds, draft: cluster.newFile() });
  await add(0);
  const first = await save();
  if (first === undefined) throw new Error("no snapshot was taken");
  await add(10);
  await save();
  await add(20);
  return { a, seeds, first };
}

/** Two nodes with snapshots each, of which b changed its file by itself. Its snapshot is the newest. */
async function differingReplica() {
  const a = await cluster.open("a", { file: cluster.newFile() });
  const [seeds, file] = [new MemorySeeds(), cluster.newFile()];
  const b = await cluster.open("b", { file });
  await a.store.call("add", "1");
  for (let count = 0; count < 2; count += 1)
    await saveSnapshot(a.store, { log: a.connection, seeds, draft: cluster.newFile() });
  await b.store.abort();
  const database = openDatabase(file);
  database.exec("UPDATE lines SET text = 'changed'");
  database.close();
  const changed = await cluster.open("b", { file });
  await saveSnapshot(changed.store, { log: changed.connection, seeds, draft: cluster.newFile() });
  await changed.store.abort();
  noteUnsynced(file);
  return { a, seeds, b: file };
}

function changeFile(file: string, sql: string): void {
  const database = openDatabase(file);
  database.exec(sql);
  database.close();
}

const changeDigest = (file: string): void => changeFile(file, "UPDATE replica_state SET digest = 'another'");

/** A store of which `onCopied` is called with each copy. */
function withCopy({ store }: TestNode, onCopied: (file: string) => void): SnapshotSource {
  return {
    ...{ run: store.run, node: store.node, members: () => store.members() },
    ...{ catchUp: () => store.catchUp(), agree: () => store.agree() },
    async snapshot(file, signal) {
      const copy = await store.snapshot(file, signal);
      onCopied(file);
      return copy;
    },
  };
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

  it("is what a new replica begins with although the log has all entries, if it can be read", async () => {
    const a = await cluster.open("a");
    await a.store.call("add", "1");
    const seeds = new MemorySeeds();
    await saveSnapshot(a.store, { log: a.connection, seeds, draft: cluster.newFile() });
    await a.store.call("add", "2");
    const copied: string[] = [];
    const openSeeded = (node: string): Promise<TestNode> =>
      cluster.open(node, { file: cluster.newFile(), seeds, onCopying: () => copied.push(node) });
    const b = await openSeeded("b");
    seeds.damaged = (await seeds.list(cluster.log.state().identity))[0]?.id;
    const c = await openSeeded("c");
    expect(copied).toEqual(["b", "c"]);
    expect(await c.store.call("texts", null)).toEqual(["1", "2"]);
    expect(await cluster.hashes(a, b, c)).toHaveLength(1);
  });

  it("is needed by a replica that is new when the log was cut", async () => {
    await truncatedLog();
    await expect(cluster.open("b")).rejects.toThrow(LogTruncated);
    await expect(cluster.open("b", { seeds: new MemorySeeds() })).rejects.toThrow(LogTruncated);
  });
});

describe("a store that lags behind", () => {
  it("neither takes the claim of a run that it does not know yet, nor stores an older snapshot than the newest", async () => {
    const held: (() => void)[] = [];
    let isSlow = false;
    const deliver = (action: () => void): void => {
      if (isSlow) held.push(action);
      else process.nextTick(action);
    };
    const resume = (): void => {
      isSlow = false;
      for (const action of held.splice(0)) action();
    };
    const [a, seeds] = [await cluster.open("a"), new MemorySeeds()];
    const b = await cluster.open("b", { faults: { deliver } });
    const save = ({ store, connection }: TestNode) =>
      saveSnapshot(store, { log: connection, seeds, draft: cluster.newFile() });
    isSlow = true;
    const c = await cluster.open("c");
    const claim = await seeds.claim(c.store.run, () => true);
    const refused = save(b);
    resume();
    expect(await refused).toBeUndefined();
    await claim?.release();

    isSlow = true;
    await a.store.call("add", "1");
    const newer = await save(a);
    const later = save(b);
    resume();
    expect((await later)?.position).toBeGreaterThan(newer?.position ?? Number.POSITIVE_INFINITY);
  });
});

describe("a snapshot is not stored", () => {
  it("if the replica differs from those of the majority", async () => {
    const [seeds, file] = [new MemorySeeds(), cluster.newFile()];
    const a = await cluster.open("a");
    await cluster.open("b");
    await (await cluster.open("c", { file })).store.close();
    changeDigest(file);
    const c = await cluster.open("c", { file });
    await expect(saveSnapshot(c.store, { log: c.connection, seeds, draft: cluster.newFile() })).rejects.toMatchObject({
      code: "run_expelled",
    });
    expect(await seeds.list(cluster.log.state().identity)).toEqual([]);
    await saveSnapshot(a.store, { log: a.connection, seeds, draft: cluster.newFile() });
    expect(await seeds.list(cluster.log.state().identity)).toHaveLength(1);
  });

  it("if the others do not say that theirs are equal", async () => {
    const seeds = new MemorySeeds();
    const a = await cluster.open("a", { agreeMs: 500 });
    const b = await cluster.open("b");
    b.connection.setUp(false);
    await expect(saveSnapshot(a.store, { log: a.connection, seeds, draft: cluster.newFile() })).rejects.toThrow(
      "a majority of the engines did not say",
    );
    expect(await seeds.list(cluster.log.state().identity)).toEqual([]);
  });

  it("if the copy is damaged", async () => {
    const [seeds, file] = [new MemorySeeds(), cluster.newFile()];
    await (await cluster.open("a", { file })).store.close();
    changeFile(
      file,
      "PRAGMA ignore_check_constraints=ON; INSERT INTO replica_state VALUES (2, '', 0, '', 0, '', 0, 0)",
    );
    const { store, connection } = await cluster.open("a", { file });
    await expect(saveSnapshot(store, { log: connection, seeds, draft: cluster.newFile() })).rejects.toThrow(
      "the copy of the replica is damaged: CHECK constraint failed in replica_state",
    );
    expect(await seeds.list(cluster.log.state().identity)).toEqual([]);
  });

  it("if the log is another one when it was copied", async () => {
    const [a, seeds] = [await cluster.open("a"), new MemorySeeds()];
    const { identity } = cluster.log.state();
    const store = withCopy(a, () => cluster.log.replace());
    await expect(saveSnapshot(store, { log: a.connection, seeds, draft: cluster.newFile() })).rejects.toThrow();
    expect(await seeds.list(identity)).toEqual([]);
  });
});

describe("a store that is so slow that the log is cut before it has read all of it", () => {
  it("ends while it is open, and begins with a snapshot when it is opened again", async () => {
    const file = cluster.newFile();
    const ended: string[] = [];
    const b = await cluster.open("b", { file, onEnded: (state) => ended.push(state) });
    await b.store.call("add", "first");
    b.connection.setUp(false);
    const { a, seeds } = await truncatedLog();
    b.connection.setUp(true);
    await expect.poll(() => ended).toEqual(["member"]);
    expect(b.store.problem()).toContain("so far behind that it needs a snapshot");
    await expect(b.store.call("add", "lost")).rejects.toMatchObject({ code: "store_unavailable" });
    await b.store.close();
    const again = await cluster.open("b", { file, seeds });
    expect(await again.store.call("texts", null)).toHaveLength(31);
    expect(await cluster.hashes(a, again)).toHaveLength(1);
  });

  it("takes a newer snapshot if that happens while it opens", async () => {
    const { a, seeds } = await truncatedLog();
    let cutting: Promise<void> | undefined;
    const cut = async (): Promise<void> => {
      for (const text of ["later", "still later"]) {
        await a.store.call("add", text);
        await saveSnapshot(a.store, { log: a.connection, seeds, draft: cluster.newFile() });
      }
    };
    const faults = {
      deliver(action: () => void) {
        cutting ??= cut();
        void cutting.then(action);
      },
    };
    const b = await cluster.open("b", { file: cluster.newFile(), seeds, faults });
    expect(await b.store.call("texts", null)).toHaveLength(32);
    expect(await cluster.hashes(a, b)).toHaveLength(1);
  });
});

it("a replica begins with newer snapshots if those that it copies are removed", async () => {
  const { a, seeds } = await truncatedLog();
  const copied: number[] = [];
  seeds.beforeCopy = async () => {
    seeds.beforeCopy = async () => {};
    for (const text of ["later", "still later"]) {
      await a.store.call("add", text);
      await saveSnapshot(a.store, { log: a.connection, seeds, draft: cluster.newFile() });
    }
  };
  const onCopying = ({ position }: KeptSnapshot): number => copied.push(position);
  const b = await cluster.open("b", { file: cluster.newFile(), seeds, onCopying });
  expect(await b.store.call("texts", null)).toHaveLength(32);
  expect(copied.at(-1)).toBe((await seeds.list(cluster.log.state().identity))[0]?.position);
});

it("a log is not cut while a snapshot cannot be read", async () => {
  const [a, seeds] = [await cluster.open("a"), new MemorySeeds()];
  const { identity } = cluster.log.state();
  const save = () => saveSnapshot(a.store, { log: a.connection, seeds, draft: cluster.newFile() });
  await save();
  seeds.damaged = (await seeds.list(identity))[0]?.id;
  await save();
  expect(cluster.log.state().first).toBe(1);
  await save();
  expect(cluster.log.state().first).toBe(((await seeds.list(identity))[1]?.position ?? 0) + 1);
});

describe("a replica in a file", () => {
  it("is seeded from another node's snapshot if it differs from the others, and from the one before if one is damaged", async () => {
    const { a, seeds, b } = await differingReplica();
    const again = await cluster.open("b", { file: b, seeds });
    expect(await cluster.hashes(a, again)).toHaveLength(1);
    const [newest] = await seeds.list(cluster.log.state().identity);
    seeds.damaged = newest?.id;
    const c = await cluster.open("c", { file: cluster.newFile(), seeds });
    expect(await cluster.hashes(a, c)).toHaveLength(1);
  });

  it("is seeded anew after it was quarantined, and is then like the others", async () => {
    const [seeds, file, fingerprintEvery] = [new MemorySeeds(), cluster.newFile(), 5];
    const ended: string[] = [];
    const openC = (): Promise<TestNode> =>
      cluster.open("c", { file, seeds, fingerprintEvery, onEnded: (state) => ended.push(state) });
    const [a, b] = [await cluster.open("a", { fingerprintEvery }), await cluster.open("b", { fingerprintEvery })];
    for (let count = 0; count < 2; count += 1)
      await saveSnapshot(a.store, { log: a.connection, seeds, draft: cluster.newFile() });
    await (await openC()).store.close();
    changeDigest(file);
    const different = await openC();
    let line = 0;
    const write = async (): Promise<readonly string[]> => {
      await a.store.call("add", String(line++));
      return ended;
    };
    await expect.poll(write).toEqual(["quarantined"]);
    await different.store.close();

    const again = await openC();
    for (let count = 0; count < 4 * fingerprintEvery; count += 1) await write();
    expect(await cluster.hashes(a, b, again)).toHaveLength(1);
    expect([ended, again.store.damage()]).toEqual([["quarantined"], undefined]);
  });

  it("is seeded from no snapshot of a node that was quarantined if there is another one", async () => {
    const [seeds, badFile, file] = [new MemorySeeds(), cluster.newFile(), cluster.newFile()];
    const ended: string[] = [];
    const save = ({ store, connection }: TestNode) =>
      saveSnapshot(store, { log: connection, seeds, draft: cluster.newFile() });
    const a = await cluster.open("a");
    await cluster.open("b");
    const bad = await cluster.open("bad", { file: badFile });
    await save(a);
    await save(bad);
    await bad.store.close();
    changeDigest(badFile);
    const worse = await cluster.open("bad", { file: badFile, onEnded: (state) => ended.push(state) });
    await expect(worse.store.agree()).rejects.toThrow();
    expect(ended).toEqual(["quarantined"]);

    const from: string[] = [];
    const openC = (): Promise<TestNode> => cluster.open("c", { file, seeds, onCopying: ({ node }) => from.push(node) });
    await (await openC()).store.close();
    noteUnsynced(file);
    await openC();
    expect(from).toEqual(["bad", "a"]);
  });

  it("can be written while it is copied", async () => {
    const a = await cluster.open("a", { file: cluster.newFile() });
    await a.store.call("add", "x".repeat(8_000_000));
    // Which thread is faster is up to the machine, so there are several attempts.
    const copyAndWrite = async (): Promise<readonly string[]> => {
      const order: string[] = [];
      const copy = a.store.snapshot(cluster.newFile()).then((snapshot) => {
        order.push("copied");
        return snapshot;
      });
      await a.store.call("add", "meanwhile").then(() => order.push("written"));
      const { position } = await copy;
      expect([position, position + 1]).toContain(a.store.position());
      return order;
    };
    await expect.poll(copyAndWrite).toEqual(["written", "copied"]);
  });

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
