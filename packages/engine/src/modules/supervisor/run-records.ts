import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { bootId, findProcess, identityOf, listProcesses, membersOf, type ProcessEntry, signalIfThere } from "../../local-workers/process-table.ts";

/** Their launchers have told them to end already when their engine went; this is for those whose launcher was killed too. */
const LEFTOVER_GRACE_MS = 2_000;
const LOOK_EVERY_MS = 50;
/** After SIGKILL only the kernel stands between a process and its end. */
const KILL_WAIT_MS = 5_000;

const recordSchema = z.object({ worker: z.string(), group: z.int().positive(), start_time: z.string(), boot_id: z.string() });
type RunRecord = z.infer<typeof recordSchema>;

/** Notes which process groups run for this project, so that the next engine finds what an engine that was killed left behind. */
export class RunRecords {
  readonly #folder: string;

  /** `folder` is made when missing. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async add(worker: string, group: number): Promise<void> {
    const identity = await identityOf(group);
    // It has ended already.
    if (identity === undefined) return;
    const record: RunRecord = { worker, group, start_time: identity.start_time, boot_id: identity.boot_id };
    await mkdir(this.#folder, { recursive: true });
    const draft = join(this.#folder, `${group}.draft`);
    await writeFile(draft, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    await rename(draft, this.#file(group));
  }

  async remove(group: number): Promise<void> {
    await rm(this.#file(group), { force: true });
  }

  /** Ends what a former engine left running, and forgets it. Resolves with the names of the workers concerned when nothing of it is left. */
  async endLeftovers(): Promise<readonly string[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const ended = await Promise.all(names.map((name) => this.#endLeftover(join(this.#folder, name))));
    return [...new Set(ended.flatMap((worker) => worker ?? []))];
  }

  async #endLeftover(file: string): Promise<string | undefined> {
    const record = await readRecord(file);
    const members = record === undefined ? [] : await membersLeft(record);
    if (record !== undefined && members.length > 0) await endGroup(record);
    await rm(file, { force: true });
    return members.length > 0 ? record?.worker : undefined;
  }

  #file(group: number): string {
    return join(this.#folder, `${group}.json`);
  }
}

async function readRecord(file: string): Promise<RunRecord | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    // A draft that was never finished: its process ended with its launcher.
    return undefined;
  }
}

/** Members of the recorded group, and of no other that happens to have its number today. */
async function membersLeft(record: RunRecord): Promise<readonly ProcessEntry[]> {
  if (record.boot_id !== (await bootId())) return [];
  const members = membersOf(record.group, await listProcesses());
  const leader = await findProcess(record.group);
  if (leader !== undefined) return leader.startTime === record.start_time ? members : [];
  // Without its leader only the environment tells whose they are.
  const ours = await Promise.all(members.map(async (entry) => ((await belongsTo(record.worker, entry.pid)) ? [entry] : [])));
  return ours.flat();
}

async function belongsTo(worker: string, pid: number): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  return environment.split("\0").includes(`SVC_WORKER_NAME=${worker}`);
}

async function endGroup(record: RunRecord): Promise<void> {
  for (const entry of await membersLeft(record)) signalIfThere(entry.pid, "SIGTERM");
  if (await isGoneWithin(record, LEFTOVER_GRACE_MS)) return;
  for (const entry of await membersLeft(record)) signalIfThere(entry.pid, "SIGKILL");
  if (!(await isGoneWithin(record, KILL_WAIT_MS)))
    throw new Error(`process group ${record.group} of worker ${record.worker}, left by a former engine, does not end`);
}

async function isGoneWithin(record: RunRecord, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  while ((await membersLeft(record)).length > 0) {
    if (performance.now() > deadline) return false;
    await delay(LOOK_EVERY_MS);
  }
  return true;
}
