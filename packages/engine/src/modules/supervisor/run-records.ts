import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { replaceFile } from "../../files/replace-file.ts";
import {
  bootId,
  findProcess,
  identityOf,
  listProcesses,
  membersOf,
  type ProcessEntry,
} from "../../local-workers/process-table.ts";
import { killMembers, RunMembers, signalProcess } from "../../local-workers/run-members.ts";

/**
 * Time between SIGTERM and SIGKILL for processes that a killed engine left behind. Usually their launchers end them, so
 * this is for processes whose launcher was killed too.
 */
const LEFTOVER_GRACE_MS = 2_000;
const CHECK_EVERY_MS = 50;
/** Maximum time in which the operating system must have ended a process after SIGKILL. */
const KILL_WAIT_MS = 5_000;

const recordSchema = z.object({
  worker: z.string(),
  group: z.int().positive(),
  start_time: z.string(),
  boot_id: z.string(),
  /** Id in the environment of the run's processes. Absent in records of older engines. */
  run_id: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
});
type RunRecord = z.infer<typeof recordSchema>;

/**
 * Records the runs in progress of this project, so that the next engine finds the processes that a killed engine left
 * behind.
 */
export class RunRecords {
  readonly #folder: string;

  /** `folder` is created if it is missing. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async add(worker: string, { group, runId }: { readonly group: number; readonly runId: string }): Promise<void> {
    const identity = await identityOf(group);
    // The process has already ended, so there is nothing to record.
    if (identity === undefined) return;
    const record: RunRecord = {
      worker,
      group,
      start_time: identity.start_time,
      boot_id: identity.boot_id,
      run_id: runId,
    };
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replaceFile(this.#file(group), `${JSON.stringify(record)}\n`);
  }

  async remove(group: number): Promise<void> {
    await rm(this.#file(group), { force: true });
  }

  /**
   * Ends the processes that an earlier engine left running, and removes their records. Resolves with the names of their
   * workers when all have ended.
   */
  async endLeftovers(): Promise<readonly string[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const ended = await Promise.all(names.map((name) => this.#endLeftover(join(this.#folder, name))));
    return [...new Set(ended.flatMap((worker) => worker ?? []))];
  }

  async #endLeftover(file: string): Promise<string | undefined> {
    const record = await readRecord(file);
    const run = record === undefined || record.boot_id !== (await bootId()) ? undefined : new LeftoverRun(record);
    const isLeft = run !== undefined && (await run.membersLeft()).length > 0;
    if (isLeft) await run.end();
    await rm(file, { force: true });
    return isLeft ? record?.worker : undefined;
  }

  #file(group: number): string {
    return join(this.#folder, `${group}.json`);
  }
}

async function readRecord(file: string): Promise<RunRecord | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    // The record is incomplete. Nothing is left to end, because the process ended together with its launcher.
    return undefined;
  }
}

/** The processes of one run that a killed engine left behind. */
class LeftoverRun {
  readonly #record: RunRecord;
  readonly #marked: RunMembers | undefined;

  constructor(record: RunRecord) {
    this.#record = record;
    this.#marked =
      record.run_id === undefined ? undefined : new RunMembers({ id: record.run_id, since: record.start_time });
  }

  async membersLeft(): Promise<readonly LeftoverProcess[]> {
    const marked = (await this.#marked?.find()) ?? [];
    const inGroup = (await this.#groupLeft()).filter(({ pid }) => !marked.some((member) => member.pid === pid));
    const left = [...marked, ...inGroup.map((entry) => ({ ...entry, isNested: false }))];
    // This engine may have been started by a process of the run. So this engine and its ancestors are not leftovers.
    const ours = left.length === 0 ? undefined : await ancestorsOf(process.pid);
    return left.filter(({ pid }) => ours?.has(pid) !== true);
  }

  async end(): Promise<void> {
    // Workers of a nested engine get no SIGTERM here, because the nested engine stops them.
    for (const entry of await this.membersLeft()) if (!entry.isNested) await signalProcess(entry, "SIGTERM");
    if (await this.#isGoneWithin(LEFTOVER_GRACE_MS)) return;
    await killMembers(() => this.membersLeft());
    if (await this.#isGoneWithin(KILL_WAIT_MS)) return;
    throw new Error(
      `process group ${this.#record.group} of worker ${this.#record.worker}, left by an earlier engine, does not end`,
    );
  }

  /** Returns the members of the recorded group; an empty list if another group has the same number now. */
  async #groupLeft(): Promise<readonly ProcessEntry[]> {
    const { group, start_time, worker } = this.#record;
    const members = membersOf(group, await listProcesses());
    const leader = await findProcess(group);
    if (leader !== undefined) return leader.startTime === start_time ? members : [];
    // If the leader has ended, only the environment of the other processes shows to which worker they belong.
    const ours = await Promise.all(members.map(async (entry) => ((await belongsTo(worker, entry.pid)) ? [entry] : [])));
    return ours.flat();
  }

  async #isGoneWithin(ms: number): Promise<boolean> {
    const deadline = performance.now() + ms;
    while ((await this.membersLeft()).length > 0) {
      if (performance.now() > deadline) return false;
      await delay(CHECK_EVERY_MS);
    }
    return true;
  }
}

interface LeftoverProcess extends ProcessEntry {
  readonly isNested: boolean;
}

async function ancestorsOf(pid: number): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for (let current = pid; current > 0 && !found.has(current); ) {
    found.add(current);
    current = (await findProcess(current))?.parentPid ?? 0;
  }
  return found;
}

async function belongsTo(worker: string, pid: number): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  return environment.split("\0").includes(`SVC_WORKER_NAME=${worker}`);
}
