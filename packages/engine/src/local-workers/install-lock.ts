import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, rmdir, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { identityOf, isAlive, type ProcessIdentity } from "./process-table.ts";

const LOOK_EVERY_MS = 200;
/** Taking over a dead holder's lock takes milliseconds; a take-over this old was left behind. */
const TAKEOVER_STALE_MS = 30_000;

const holderSchema = z.object({ pid: z.int().positive(), start_time: z.string(), boot_id: z.string(), token: z.string() });
type Holder = z.infer<typeof holderSchema>;

export interface LockOptions {
  /** Exists. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Told once when another process holds the lock. */
  readonly onWait: (holderPid: number) => void;
}

/** Takes `install.lock` in the folder, waiting for a living holder. Resolves with how to let go. Rejects with the signal's reason. */
export async function takeInstallLock(options: LockOptions): Promise<() => Promise<void>> {
  const lock = join(options.folder, "install.lock");
  const mine = await claimFile(options.folder);
  try {
    let told = false;
    for (;;) {
      options.signal.throwIfAborted();
      if (await linked(mine.file, lock)) break;
      const holder = await readHolder(lock);
      if (holder === "gone") continue;
      if (holder === "unreadable" || !(await isAlive(holder))) {
        if (await takeOver(options.folder, { lock, mine: mine.file, dead: holder })) break;
      } else if (!told) {
        told = true;
        options.onWait(holder.pid);
      }
      await delay(LOOK_EVERY_MS, undefined, { signal: options.signal }).catch(() => options.signal.throwIfAborted());
    }
  } finally {
    await rm(mine.file, { force: true });
  }
  return async () => {
    const holder = await readHolder(lock);
    if (typeof holder === "object" && holder.token === mine.token) await rm(lock, { force: true });
  };
}

/** A file with our identity, to be linked into place in one step: a lock that exists is complete. */
async function claimFile(folder: string): Promise<{ readonly file: string; readonly token: string }> {
  const identity: ProcessIdentity | undefined = await identityOf(process.pid);
  if (identity === undefined) throw new Error("this process is not in the process list; is /proc mounted?");
  const token = randomUUID();
  const file = join(folder, `install.lock.${token}`);
  await writeFile(file, JSON.stringify({ ...identity, token } satisfies Holder), { flag: "wx" });
  return { file, token };
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function readHolder(lock: string): Promise<Holder | "gone" | "unreadable"> {
  let text: string;
  try {
    text = await readFile(lock, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "gone";
    throw error;
  }
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return "unreadable";
  }
}

/**
 * Two that find the same dead holder must not both remove its lock: the second would remove the first one's new lock. So only one at
 * a time may take over, and it looks again before it does.
 */
async function takeOver(folder: string, step: { readonly lock: string; readonly mine: string; readonly dead: Holder | "unreadable" }): Promise<boolean> {
  const gate = join(folder, "install.lock.takeover");
  try {
    await mkdir(gate);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const age = await stat(gate).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > TAKEOVER_STALE_MS) await rmdir(gate).catch(() => {});
    return false;
  }
  try {
    const now = await readHolder(step.lock);
    if (now === "gone") return await linked(step.mine, step.lock);
    const same = typeof now === "object" && typeof step.dead === "object" ? now.token === step.dead.token : now === step.dead;
    if (!same) return false;
    await unlink(step.lock);
    return await linked(step.mine, step.lock);
  } finally {
    await rmdir(gate);
  }
}
