import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ClusterSettings } from "../config/blocks/cluster-block.ts";
import { silentLogger } from "../kernel/logger.ts";
import type { Store } from "../kernel/store-contract.ts";
import { lockDataFolder } from "../store/data-folder.ts";
import { openDatabase } from "../store/driver.ts";
import { openStore } from "../store/open-store.ts";
import { encodeEntry, START_ENTRY } from "../store/replicated/entry.ts";
import { positionOf } from "../store/replicated/first-snapshot.ts";
import { type LedgerProcedures, schema } from "../store/testing/ledger-procedures.ts";
import { Cluster } from "./cluster.ts";
import { connectNats, type NatsClient } from "./nats/connect.ts";
import { NatsLog } from "./nats/nats-log.ts";
import { logStreamName } from "./nats/stream-names.ts";
import { type NatsServers, startNatsServers } from "./nats/testing/nats-servers.ts";
import { logSources, type StartedLog, startLogs } from "./start-logs.ts";

const procedures = new URL("../store/testing/ledger-procedures.js", import.meta.url);
const CLUSTER = "test";

let folder: string;
let servers: NatsServers;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "svc-start-logs-"));
  servers = await startNatsServers(CLUSTER, 1, { stores: ["state", "stream", "queue", "cron", "other"] });
});
afterEach(async () => {
  await servers.stop();
  rmSync(folder, { recursive: true, force: true });
});

const settingsOf = (node: string): ClusterSettings => ({
  ...{ name: CLUSTER, node, snapshotAfter: 2 ** 30, nats: { servers: servers.urls, replicas: 1 } },
});

/** Begins the logs with the data of a folder, in the format of the ledger. */
const begin = (dataDir: string, kind: "alone" | "replicas" = "alone"): Promise<readonly StartedLog[]> =>
  startLogs({ settings: settingsOf("a"), dataDir, kind, schemas: async () => schema });

/** Creates the data folder of an engine that was alone, with lines in its state. */
async function aloneWith(...lines: readonly string[]): Promise<string> {
  const dataDir = join(folder, "alone");
  mkdirSync(dataDir);
  const store = await openStore<LedgerProcedures>({ file: join(dataDir, "state.db"), procedures });
  for (const line of lines) await store.call("add", line);
  await store.close();
  return dataDir;
}

async function withClient(use: (client: NatsClient) => Promise<void>): Promise<void> {
  const { nats, name: cluster } = settingsOf("a");
  const client = await connectNats({ settings: nats, cluster, node: "a", logger: silentLogger });
  await use(client).finally(() => client.close());
}

const openLog = (client: NatsClient, store: string): Promise<NatsLog> =>
  NatsLog.open({ client, cluster: CLUSTER, store, replicas: 1, logger: silentLogger });

/** As an attempt to begin a log does that is then interrupted. */
const appendStart = (log: NatsLog): Promise<number> =>
  log.append(START_ENTRY.id, encodeEntry(START_ENTRY.header, Buffer.of()));

async function forgetIdsAfter100Ms({ nats }: NatsClient, stream: string): Promise<void> {
  const info = await nats.request(`$JS.API.STREAM.INFO.${stream}`);
  const config = { ...info.json<{ readonly config: object }>().config, duplicate_window: 100_000_000 };
  const updated = await nats.request(`$JS.API.STREAM.UPDATE.${stream}`, JSON.stringify(config));
  expect(updated.json()).toMatchObject({ config });
}

interface Node {
  readonly dataDir: string;
  readonly store: Store<LedgerProcedures>;
  stop(): Promise<void>;
}

async function startNode(name: string): Promise<Node> {
  const dataDir = join(folder, name);
  mkdirSync(dataDir, { recursive: true });
  const parts = { settings: settingsOf(name), dataDir, logger: silentLogger, onStoreEnded: () => {} };
  const cluster = await Cluster.connect(parts);
  const file = join(dataDir, "cluster", "state.db");
  try {
    const store = await cluster.openStoreOf(crypto.randomUUID())<LedgerProcedures>({
      file,
      procedures,
      shared: "state",
    });
    const stop = async (): Promise<void> => {
      await store.close();
      await cluster.stop();
    };
    return { dataDir, store, stop };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

const texts = ({ store }: Node): Promise<readonly string[]> => store.call("texts", null);

describe("the data of an engine that was alone", () => {
  it("are what an empty cluster begins with, once", async () => {
    const dataDir = await aloneWith("1", "2");
    const started = await begin(dataDir);
    expect(started).toMatchObject([{ store: "state", position: undefined }]);
    const [a, b] = [await startNode("a"), await startNode("b")];
    expect(await texts(a)).toEqual(["1", "2"]);
    await a.store.call("add", "3");
    expect(await texts(b)).toEqual(["1", "2", "3"]);
    await expect(begin(dataDir)).rejects.toThrow("so the cluster has data already: nothing was changed");
    await Promise.all([a.stop(), b.stop()]);
    const alone = await openStore<LedgerProcedures>({ file: join(dataDir, "state.db"), procedures });
    expect(await alone.call("texts", null)).toEqual(["1", "2"]);
    await alone.close();
  });

  it("are refused while an engine uses them, for another cluster's servers, and if there are none", async () => {
    const dataDir = await aloneWith("1");
    const settings = { ...settingsOf("a"), name: "other" };
    await expect(startLogs({ settings, dataDir, kind: "alone", schemas: async () => schema })).rejects.toThrow(
      "engine.cluster.name must be the name",
    );
    const lock = lockDataFolder(dataDir);
    await expect(begin(dataDir)).rejects.toThrow("is in use by");
    lock.release();
    const held = lockDataFolder(dataDir);
    expect(() => logSources(dataDir, "alone")).toThrow("is in use by");
    held.release();
    expect(() => logSources(dataDir, "replicas")).toThrow("are taken by `svc cluster init`");
    mkdirSync(join(dataDir, "cluster"));
    renameSync(join(dataDir, "state.db"), join(dataDir, "cluster/state.db"));
    expect(() => logSources(dataDir, "alone")).toThrow("is taken by `svc cluster recover`");
    rmSync(join(dataDir, "cluster"), { recursive: true });
    expect(() => logSources(dataDir, "alone")).toThrow("none of state.db, stream.db, queue.db, cron.db is there");
  });

  it("are refused if they are not in a format that this version knows, and if the engine has newer ones", async () => {
    const dataDir = await aloneWith("1");
    const change = (sql: string): void => {
      const database = openDatabase(join(dataDir, "state.db"));
      database.exec(sql);
      database.close();
    };
    change("PRAGMA user_version=3");
    await expect(begin(dataDir)).rejects.toThrow(
      "has format version 3, and this version of svc knows versions up to 2",
    );
    change("PRAGMA user_version=2; ALTER TABLE lines RENAME TO others");
    await expect(begin(dataDir)).rejects.toThrow(
      "is no database of svc: it has no table lines, or that table has other columns",
    );
    change("PRAGMA user_version=0");
    await expect(begin(dataDir)).rejects.toThrow("is no database of svc: its format has no version");
    change("ALTER TABLE others RENAME TO lines; PRAGMA user_version=2");
    const a = await startNode("a");
    await a.stop();
    renameSync(join(a.dataDir, "cluster"), join(dataDir, "cluster"));
    await expect(begin(dataDir)).rejects.toThrow("has been in a cluster, whose data in");
  });

  it("are taken by the next attempt if one was interrupted, and no engine begins without them meanwhile", async () => {
    const dataDir = await aloneWith("1");
    await withClient(async (client) => {
      await appendStart(await openLog(client, "state"));
    });
    await expect(startNode("a")).rejects.toThrow("the log begins with a snapshot that is not stored yet");
    await begin(dataDir);
    // The command can be repeated until an engine has begun.
    await begin(dataDir);
    const store = await openStore<LedgerProcedures>({ file: join(dataDir, "state.db"), procedures });
    await store.call("add", "2");
    await store.close();
    await expect(begin(dataDir)).rejects.toThrow("the log of state begins already with other data");
    const a = await startNode("a");
    expect(await texts(a)).toEqual(["1"]);
    await a.stop();
  });
});

it("no log can be joined while another one of the cluster is begun", async () => {
  const dataDir = await aloneWith("1");
  copyFileSync(join(dataDir, "state.db"), join(dataDir, "queue.db"));
  // The copy of the first database cannot be made.
  mkdirSync(join(dataDir, "queue.db.snapshot"));
  await expect(begin(dataDir)).rejects.toThrow("queue.db.snapshot");
  await expect(startNode("a")).rejects.toThrow("the log begins with a snapshot that is not stored yet");
  rmSync(join(dataDir, "queue.db.snapshot"), { recursive: true });
  await begin(dataDir);
  const a = await startNode("a");
  expect(await texts(a)).toEqual(["1"]);
  await a.stop();
});

describe("another folder than the one that the logs began with", () => {
  it("is refused before anything is changed if it has more stores", async () => {
    const dataDir = await aloneWith("1");
    await begin(dataDir);
    const store = await openStore<LedgerProcedures>({ file: join(dataDir, "state.db"), procedures });
    await store.call("add", "2");
    await store.close();
    copyFileSync(join(dataDir, "state.db"), join(dataDir, "queue.db"));
    await expect(begin(dataDir)).rejects.toThrow("the log of state begins already with other data");
    await withClient(async (client) =>
      expect(await (await openLog(client, "queue")).state()).toMatchObject({ last: 0 }),
    );
  });

  it("is refused if it has fewer stores, so that the logs never come from two folders", async () => {
    const dataDir = await aloneWith("1");
    await withClient(async (client) => {
      await appendStart(await openLog(client, "cron"));
    });
    await expect(begin(dataDir)).rejects.toThrow(/the log of cron has entries already, and .* has no cron.db/);
    await withClient(async (client) =>
      expect(await (await openLog(client, "state")).state()).toMatchObject({ last: 0 }),
    );
    copyFileSync(join(dataDir, "state.db"), join(dataDir, "cron.db"));
    expect(await begin(dataDir)).toMatchObject([{ store: "cron" }, { store: "state" }]);
  });
});

describe("the data of an engine that was killed", () => {
  /** Copies the files of stores that are open, as a killed engine leaves them. */
  function killed(from: string, to: string): string {
    mkdirSync(to, { recursive: true });
    for (const end of ["", "-wal"]) copyFileSync(join(from, `state.db${end}`), join(to, `state.db${end}`));
    return to;
  }
  const contents = (of: string): readonly string[] =>
    readdirSync(of)
      .sort()
      .map(
        (name) =>
          `${name} ${createHash("sha256")
            .update(readFileSync(join(of, name)))
            .digest("hex")}`,
      );

  it("are not changed when only their positions are wanted", async () => {
    const a = await startNode("a");
    await a.store.call("add", "1");
    const dataDir = join(folder, "killed");
    const replicas = killed(join(a.dataDir, "cluster"), join(dataDir, "cluster"));
    const before = contents(replicas);
    const [source] = logSources(dataDir, "replicas");
    expect(contents(replicas)).toEqual(before);
    await a.stop();
    expect(source?.position).toBe(positionOf(join(a.dataDir, "cluster", "state.db")) - 1);
  });

  it("are refused if they are damaged, before anything is stored", async () => {
    const store = await openStore<LedgerProcedures>({ file: join(folder, "state.db"), procedures });
    for (const line of ["1", "2", "3", "4"]) await store.call("add", line);
    const dataDir = killed(folder, join(folder, "killed"));
    const whole = killed(folder, join(folder, "whole"));
    await store.close();
    const wal = join(dataDir, "state.db-wal");
    const log = readFileSync(wal);
    const pages = Math.floor((log.length - 32) / 4120);
    log.fill(0xff, 32 + (pages - 6) * 4120 + 24, 32 + (pages - 6) * 4120 + 1_024);
    writeFileSync(wal, log);
    await expect(begin(dataDir)).rejects.toThrow(/the log .*state.db-wal is damaged: .* run this again/i);

    const other = await openStore<LedgerProcedures>({ file: join(whole, "state.db"), procedures });
    await other.close();
    const file = readFileSync(join(whole, "state.db"));
    writeFileSync(join(whole, "state.db"), file.fill(0xff, file.length - 4_096));
    await expect(begin(whole)).rejects.toThrow("state.db is damaged");
    await withClient(async (client) =>
      expect(await (await openLog(client, "state")).state()).toMatchObject({ last: 0 }),
    );
  });
});

it("an attempt to begin logs may be repeated when the servers do not remember the first entry any more", async () => {
  const dataDir = await aloneWith("1");
  await withClient(async (client) => {
    const [log, other] = [await openLog(client, "state"), await openLog(client, "other")];
    for (const store of ["state", "other"]) await forgetIdsAfter100Ms(client, logStreamName(CLUSTER, store));
    await appendStart(log);
    await expect.poll(() => other.append("id", Buffer.of())).toBe(2);
    await begin(dataDir);
    expect(await log.state()).toMatchObject({ first: 2, last: 1 });
    await expect(log.appendFirst("a", Buffer.of())).rejects.toThrow("the log has entries already");
  });
  const a = await startNode("a");
  expect(await texts(a)).toEqual(["1"]);
  await a.stop();
});

it("an engine's copy begins new logs after the servers lost theirs; copies of former logs are refused", async () => {
  const [a, b] = [await startNode("a"), await startNode("b")];
  for (const line of ["1", "2", "3"]) await a.store.call("add", line);
  expect(await texts(b)).toEqual(["1", "2", "3"]);
  await Promise.all([a.stop(), b.stop()]);
  await servers.stop();
  servers = await startNatsServers(CLUSTER, 1);

  const [source] = logSources(a.dataDir, "replicas");
  expect(source).toMatchObject({ store: "state", position: positionOf(join(a.dataDir, "cluster", "state.db")) });
  await begin(a.dataDir, "replicas");
  expect(existsSync(join(a.dataDir, "cluster"))).toBe(false);
  await expect(begin(b.dataDir, "replicas")).rejects.toThrow("the log of state begins already with other data");
  const again = await startNode("a");
  expect(await texts(again)).toEqual(["1", "2", "3"]);
  await expect(startNode("b")).rejects.toThrow("move the folder `cluster` out");
  renameSync(join(b.dataDir, "cluster"), join(b.dataDir, "former"));
  const other = await startNode("b");
  await again.store.call("add", "4");
  expect(await texts(other)).toEqual(["1", "2", "3", "4"]);
  await Promise.all([again.stop(), other.stop()]);
});
