import { createHash, randomUUID } from "node:crypto";
import { createReadStream, existsSync, readdirSync, renameSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ClusterSettings } from "../config/blocks/cluster-block.ts";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { lockDataFolder } from "../store/data-folder.ts";
import { closeDatabaseFile, closeQuietly, openDatabaseFile } from "../store/database-file.ts";
import { openDatabase } from "../store/driver.ts";
import { isUnsynced } from "../store/failed-sync.ts";
import { refuseDamage } from "../store/integrity-check.ts";
import { LogChanged } from "../store/log.ts";
import { encodeEntry, START_ENTRY } from "../store/replicated/entry.ts";
import { becomeFirstSnapshot, positionOf } from "../store/replicated/first-snapshot.ts";
import type { KeptSnapshot } from "../store/replicated/seeds.ts";
import { snapshotDatabase } from "../store/snapshot.ts";
import { checkServer } from "./nats/check-server.ts";
import { connectNats } from "./nats/connect.ts";
import type { StreamParts } from "./nats/ensure-stream.ts";
import { NatsLog } from "./nats/nats-log.ts";
import { NatsSeeds } from "./nats/nats-seeds.ts";
import { formatProblem, type Schema, schemaOf } from "./store-formats.ts";

/** Stores whose data are in files of these names if an engine runs without a cluster. */
const STORES = ["state", "stream", "queue", "cron"];
/** Name of the folder with the replicas, in a data folder. */
const REPLICAS = "cluster";
/** How long to wait for the servers, in milliseconds. */
const START_WAIT_MS = 5_000;

export interface LogSource {
  readonly store: string;
  readonly file: string;
  /** Position of the replica in its log; undefined for a file of an engine without a cluster. */
  readonly position: number | undefined;
}

export interface StartedLog extends LogSource {
  /** Size of the snapshot, in bytes. */
  readonly bytes: number;
}

/** Thrown if the data cannot become the first snapshots of logs. The message says what to do. */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
}

type Kind = "alone" | "replicas";

/**
 * Returns the databases of a data folder: `alone` selects the files of an engine without a cluster, `replicas` the
 * replicas of an engine in a cluster. Does not change the databases. Throws StartRefused if there are none, and
 * DatabaseRefused if e.g. an engine uses the folder.
 */
export function logSources(dataDir: string, kind: Kind): readonly LogSource[] {
  const lock = lockDataFolder(dataDir);
  try {
    return withPositions(databasesOf(dataDir, kind), kind);
  } finally {
    lock.release();
  }
}

type SourceFile = Pick<LogSource, "store" | "file">;

function databasesOf(dataDir: string, kind: Kind): readonly SourceFile[] {
  const folder = kind === "alone" ? dataDir : join(dataDir, REPLICAS);
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".db")) : [];
  const stores = files.map((name) => name.slice(0, -3)).sort();
  const sources = stores
    .filter((store) => kind === "replicas" || STORES.includes(store))
    .map((store) => ({ store, file: join(folder, `${store}.db`) }));
  if (sources.length === 0) throw new StartRefused(noDataText(dataDir, kind));
  const damaged = sources.find(({ file }) => isUnsynced(file));
  if (damaged !== undefined)
    throw new StartRefused(`${damaged.file} cannot be trusted, because the disk failed; take another engine's folder`);
  return sources;
}

function noDataText(dataDir: string, kind: Kind): string {
  const holds = (folder: string): boolean =>
    existsSync(folder) && readdirSync(folder).some((name) => STORES.includes(name.replace(/[.]db$/, "")));
  const replicas = join(dataDir, REPLICAS);
  if (kind === "replicas") {
    const hint = holds(dataDir) ? "; those of an engine that was alone are taken by `svc cluster init`" : "";
    return `${dataDir} has no data of an engine of a cluster: there is no database in ${replicas}${hint}`;
  }
  const hint = holds(replicas) ? "; the copy of an engine of a cluster is taken by `svc cluster recover`" : "";
  return `${dataDir} has no data of an engine: none of ${STORES.map((store) => `${store}.db`).join(", ")} is there${hint}`;
}

/** Throws StartRefused if the engine has been in a cluster, because its replicas are newer than its files. */
function refuseFormer(dataDir: string): void {
  const folder = join(dataDir, REPLICAS);
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".db")) : [];
  if (!files.some((name) => positionOf(join(folder, name)) > 0)) return;
  throw new StartRefused(
    `the engine of ${dataDir} has been in a cluster, whose data in ${folder} are newer: take those with \`svc cluster recover\`, or move that folder away to begin with the former data`,
  );
}

function withPositions(sources: readonly SourceFile[], kind: Kind): readonly LogSource[] {
  return sources.map((source) => ({ ...source, position: kind === "alone" ? undefined : positionOf(source.file) }));
}

/** Checks a whole database, like an engine does after it was killed. Throws DatabaseRefused or StartRefused. */
function checkDatabase(file: string, kind: Kind, schema: Schema | undefined): void {
  const durability = kind === "alone" ? "durable" : "relaxed";
  const { database, damage } = openDatabaseFile({ file, schema: undefined, durability });
  try {
    refuseDamage(file, database);
    const problem = schema && formatProblem(database, schema);
    if (problem !== undefined) throw new StartRefused(`${file} ${problem}. Nothing was stored with the servers`);
    closeDatabaseFile(database);
  } catch (error) {
    closeQuietly(database);
    throw error;
  }
  if (damage !== undefined)
    throw new StartRefused(`${damage}. Nothing was stored with the servers. Run this again to take what is left`);
}

/**
 * Makes each database of a data folder the first snapshot of an empty log. Then renames the folder of the replicas,
 * because they belong to the previous logs. Rejects with StartRefused, NatsProblem or DatabaseRefused. May be called
 * again after a failure.
 */
export async function startLogs({
  settings,
  dataDir,
  kind,
  schemas = schemaOf,
}: {
  readonly settings: ClusterSettings;
  /** No engine may be using this folder. */
  readonly dataDir: string;
  readonly kind: Kind;
  /** Returns the schema of a store, or undefined if it is not known. Default: the schemas of the modules. */
  readonly schemas?: typeof schemaOf;
}): Promise<readonly StartedLog[]> {
  const { name: cluster, node, nats } = settings;
  const lock = lockDataFolder(dataDir);
  try {
    const files = databasesOf(dataDir, kind);
    if (kind === "alone") refuseFormer(dataDir);
    for (const { store, file } of files) checkDatabase(file, kind, await schemas(store));
    const sources = withPositions(files, kind);
    const logger = silentLogger;
    const client = await connectNats({ settings: nats, cluster, node, logger, startWaitMs: START_WAIT_MS });
    try {
      await checkServer(client.nats, cluster);
      const logs = await Promise.all(
        sources.map(async (source) => {
          const place = { client, cluster, store: source.store, replicas: nats.replicas, logger };
          return { source, log: await NatsLog.open(place), seeds: await NatsSeeds.open(place) };
        }),
      );
      await refuseOtherLogs(sources, { client, cluster, replicas: nats.replicas, logger });
      for (const { source, log } of logs) await refuseEntries(source, log);
      const copies = new SnapshotDrafts();
      const started: StartedLog[] = [];
      try {
        // After this step an engine can read these logs only if it starts from the snapshots. It comes first, so that
        // no engine writes to a log while the copies are made. If an earlier attempt has stored a snapshot, it comes
        // last, so that nothing is changed if the data are those of another folder.
        const appendAll = async (): Promise<void> => {
          for (const { source, log } of logs) await appendStart(source, log);
        };
        const isContinued = (await Promise.all(logs.map(keptOf))).some((kept) => kept !== undefined);
        if (!isContinued) await appendAll();
        // Make and compare all copies before the first one is stored, because all snapshots of a cluster must come from
        // one folder.
        for (const each of logs) await copies.make(each);
        if (isContinued) await appendAll();
        for (const each of logs) started.push(await startLog(each, copies.of(each)));
      } finally {
        await copies.remove();
      }
      if (kind === "replicas") renameSync(join(dataDir, REPLICAS), join(dataDir, `${REPLICAS}.${Date.now()}`));
      return started;
    } finally {
      await client.close();
    }
  } finally {
    lock.release();
  }
}

interface LogToStart {
  readonly source: LogSource;
  readonly log: NatsLog;
  readonly seeds: NatsSeeds;
}

/**
 * Throws StartRefused if a log that none of the sources begins has entries, e.g. because an earlier attempt with another
 * folder began it: all logs of a cluster must come from one folder.
 */
async function refuseOtherLogs(sources: readonly SourceFile[], place: Omit<StreamParts, "store">): Promise<void> {
  const folder = dirname(sources[0]?.file ?? "");
  for (const store of STORES.filter((one) => !sources.some((source) => source.store === one)))
    if (await NatsLog.hasEntries({ ...place, store }))
      throw new StartRefused(
        `the log of ${store} has entries already, and ${folder} has no ${store}.db: nothing was changed. Begin with the folder that the log began with, or, to replace what the cluster has, stop all engines and NATS servers, move the servers' folders away, start the servers and run this again`,
      );
}

/** Returns the snapshot that the log begins with, if one is stored. */
async function keptOf({ log, seeds }: Pick<LogToStart, "log" | "seeds">): Promise<KeptSnapshot | undefined> {
  const [kept] = await seeds.list((await log.state()).identity);
  return kept;
}

/**
 * Throws StartRefused if an engine has written to the log. An earlier attempt of startLogs may have appended the first
 * entry.
 */
async function refuseEntries({ store }: LogSource, log: NatsLog): Promise<void> {
  const { last } = await log.state();
  const first = await log.read(1);
  if (last === 0 || (last === 1 && (first === undefined || first.id === START_ENTRY.id))) return;
  throw new StartRefused(
    `the log of ${store} has ${last} entries, so the cluster has data already: nothing was changed. To replace them, stop all engines and NATS servers, move the servers' folders away, start the servers and run this again`,
  );
}

async function startLog({ source, log, seeds }: LogToStart, { file, sha256 }: Draft): Promise<StartedLog> {
  const { identity } = await log.state();
  const [kept] = await seeds.list(identity);
  if (kept !== undefined) {
    await log.truncate(2);
    return { ...source, bytes: kept.bytes };
  }
  const claim = await seeds.claim(`start/${randomUUID()}`, () => false);
  if (claim === undefined) throw new StartRefused("another engine stores a snapshot: stop all engines, and try again");
  try {
    const database = openDatabase(file);
    try {
      becomeFirstSnapshot(database, { identity, position: 1, lastId: START_ENTRY.id });
    } finally {
      database.close();
    }
    await claim.put({ identity, position: 1, node: "", logBytes: 0, source: sha256 }, file);
    await log.truncate(2);
    return { ...source, bytes: statSync(file).size };
  } finally {
    await claim.release().catch(() => undefined);
  }
}

interface Draft {
  readonly file: string;
  /** Hash of the copy before it was turned into a snapshot. */
  readonly sha256: string;
}

/** Copies of databases that become snapshots. They are in the folder of the databases. */
class SnapshotDrafts {
  readonly #drafts = new Map<LogToStart, Draft>();

  /** Copies a database. Rejects with StartRefused if its log already begins with a snapshot of other data. */
  async make(of: LogToStart): Promise<void> {
    const { source } = of;
    const file = `${source.file}.snapshot`;
    await rm(file, { force: true });
    const signal = new AbortController().signal;
    await snapshotDatabase({ file: source.file, target: file, clock: systemClock, signal });
    this.#drafts.set(of, { file, sha256: await sha256Of(file) });
    const kept = await keptOf(of);
    if (kept !== undefined && kept.source !== this.of(of).sha256)
      throw new StartRefused(
        `the log of ${source.store} begins already with other data, of another folder or of this one before it changed: nothing was changed. To begin with those of ${source.file}, move the folders of all NATS servers away, start the servers and run this again`,
      );
  }

  of(log: LogToStart): Draft {
    const found = this.#drafts.get(log);
    if (found === undefined) throw new Error("the database was not copied");
    return found;
  }

  async remove(): Promise<void> {
    for (const { file } of this.#drafts.values()) await rm(file, { force: true });
  }
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

async function appendStart(source: LogSource, log: NatsLog): Promise<void> {
  if ((await log.state()).last > 0) return refuseEntries(source, log);
  try {
    await log.appendFirst(START_ENTRY.id, encodeEntry(START_ENTRY.header, Buffer.of()));
  } catch (error) {
    if (!(error instanceof LogChanged)) throw error;
    // The log got an entry after the check: from another engine, or from this call if its acknowledgement was lost.
    await refuseEntries(source, log);
  }
}
