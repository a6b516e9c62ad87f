import { randomUUID } from "node:crypto";
import { link, readFile, rename, stat, unlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { ConfigEditError } from "./edit-error.ts";

const RETRY_MS = 25;
const DEFAULT_WAIT_MS = 5_000;
/** An edit takes milliseconds, so a lock of this age was left behind, whatever its process id says. */
const STALE_AFTER_MS = 30_000;

const lockSchema = z.object({ pid: z.int().min(1), host: z.string(), token: z.string() });

/** Where the lock of a config file lies. */
export function lockFileOf(file: string): string {
  return join(dirname(file), `.${basename(file)}.lock`);
}

/**
 * Runs `work` while no other process edits `file`. A lock whose process is gone, or that is older than 30 s, is taken over.
 * Rejects with ConfigEditError `locked` after `waitMs` (default 5,000), and `not_written` when the folder cannot be written to.
 */
export async function withEditLock<T>(file: string, work: () => Promise<T>, { waitMs = DEFAULT_WAIT_MS }: { readonly waitMs?: number } = {}): Promise<T> {
  const lock = lockFileOf(file);
  const token = randomUUID();
  await take(lock, { token, waitMs });
  try {
    return await work();
  } finally {
    await release(lock, token);
  }
}

async function take(lock: string, { token, waitMs }: { readonly token: string; readonly waitMs: number }): Promise<void> {
  const content = JSON.stringify({ pid: process.pid, host: hostname(), token });
  const deadline = performance.now() + waitMs;
  while (!(await create(lock, content))) {
    if (await removeStale(lock)) continue;
    if (performance.now() > deadline)
      throw new ConfigEditError("locked", `another edit of the config file is under way (${await holderOf(lock)}); if none is, delete ${lock}`);
    await pause(RETRY_MS);
  }
}

async function create(lock: string, content: string): Promise<boolean> {
  try {
    await writeFile(lock, content, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw new ConfigEditError("not_written", `cannot create ${lock}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** Answers whether a stale lock is out of the way. */
async function removeStale(lock: string): Promise<boolean> {
  const judged = await read(lock);
  const stats = await stat(lock).catch(ignore("ENOENT"));
  // Gone by itself. What lies there by now is a fresh one, and not to be moved.
  if (judged === undefined || stats === undefined) return true;
  if (!isStale(stats.mtimeMs, judged)) return false;
  const aside = `${lock}.${randomUUID()}`;
  try {
    await rename(lock, aside);
  } catch (error) {
    // Somebody else cleared it.
    if (codeOf(error) === "ENOENT") return true;
    throw error;
  }
  // Between judging and renaming somebody else may have cleared the stale lock and taken a fresh one: give that one back.
  if ((await read(aside)) !== judged) await link(aside, lock).catch(ignore("EEXIST"));
  await unlink(aside);
  return true;
}

function isStale(mtimeMs: number, content: string): boolean {
  if (Date.now() - mtimeMs > STALE_AFTER_MS) return true;
  const holder = parse(content);
  // Not yet written, or written by something else: only its age counts.
  if (holder === undefined || holder.host !== hostname()) return false;
  return !isAlive(holder.pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

async function release(lock: string, token: string): Promise<void> {
  const content = await read(lock);
  // Held for so long that somebody took it over: theirs stays.
  if (content !== undefined && parse(content)?.token === token) await unlink(lock).catch(ignore("ENOENT"));
}

async function holderOf(lock: string): Promise<string> {
  const holder = parse((await read(lock)) ?? "");
  return holder === undefined ? "by an unknown process" : `by process ${holder.pid} on ${holder.host}`;
}

async function read(lock: string): Promise<string | undefined> {
  return await readFile(lock, "utf8").catch(ignore("ENOENT"));
}

function parse(content: string): z.output<typeof lockSchema> | undefined {
  try {
    return lockSchema.safeParse(JSON.parse(content)).data;
  } catch {
    return undefined;
  }
}

function ignore(code: string): (error: unknown) => undefined {
  return (error) => {
    if (codeOf(error) !== code) throw error;
    return undefined;
  };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
