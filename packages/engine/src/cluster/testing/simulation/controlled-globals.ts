import crypto from "node:crypto";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { Random } from "./random.ts";

const realSetImmediate = globalThis.setImmediate;
let random = new Random(0);
let pendingImmediates = 0;

/**
 * Replaces what makes two runs of a process differ: random ids and numbers, and file operations that end in a thread.
 * They affect the whole process, so only the simulation's own process may call this.
 */
export function controlGlobals(): void {
  Object.assign(crypto, {
    randomUUID: () => random.uuid(),
    randomBytes: (length: number) => random.bytes(length),
  });
  Object.assign(globalThis.crypto, { randomUUID: () => random.uuid() });
  Math.random = () => random.next();
  Object.assign(globalThis, { setImmediate: countedImmediate });
  Object.assign(timers, {
    setImmediate: (value: unknown) => new Promise<unknown>((resolve) => countedImmediate(resolve, value)),
  });
  Object.assign(fs.promises, {
    mkdtemp: async (prefix: string) => fs.mkdtempSync(prefix),
    readdir: async (path: string) => fs.readdirSync(path),
    readFile: async (path: string, options?: BufferEncoding) => fs.readFileSync(path, options),
    rename: async (from: string, to: string) => fs.renameSync(from, to),
    rm: async (path: string, options?: fs.RmOptions) => fs.rmSync(path, options),
    stat: async (path: string) => fs.statSync(path),
    writeFile: async (path: string, data: Uint8Array) => fs.writeFileSync(path, data),
  });
  syncBuiltinESMExports();
}

/** Makes the ids and random numbers of the process depend on the seed. */
export function seedGlobals(seed: number): void {
  random = new Random(seed);
}

/** Resolves when the process has nothing to do until the next event of the simulation. */
export async function processIsIdle(): Promise<void> {
  do await new Promise<void>((resolve) => void realSetImmediate(resolve));
  while (pendingImmediates > 0);
}

function countedImmediate(action: (...given: unknown[]) => void, ...given: unknown[]): { unref(): void } {
  pendingImmediates += 1;
  realSetImmediate(() => {
    pendingImmediates -= 1;
    action(...given);
  });
  return { unref() {} };
}
