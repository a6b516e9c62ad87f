import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { openStore } from "../../store/open-store.ts";
import type { Delivery, Outbox } from "../outbox.ts";
import { openFileItems } from "./file.ts";

const root = mkdtempSync(join(tmpdir(), "svc-items-crash-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Acknowledged {
  readonly key: string;
  readonly version: number;
  readonly seq: number;
}

describe.each(["durable", "relaxed"] as const)("a %s file adapter whose process is killed with -9", (durability) => {
  it("keeps every acknowledged write, and its delivery, with versions that have no gaps (gap 39)", async () => {
    const folder = mkdtempSync(join(root, "killed-"));
    const acknowledged = await writeUntilKilled(folder, durability, 2_000);
    expect(acknowledged.length).toBeGreaterThanOrEqual(2_000);
    const items = await openFileItems({
      dataDir: folder,
      filePath: "state.db",
      cacheBytes: 0,
      durability,
      log: silentLogger,
      clock: systemClock,
      openStore,
    });
    const last = new Map(acknowledged.map(({ key, version }) => [key, version]));
    for (const [key, version] of last) {
      const item = await items.get("crash", key);
      expect(item?.version).toBeGreaterThanOrEqual(version);
      expect(item?.json).toBe(JSON.stringify({ round: item?.version }));
    }
    const deliveries = new Map((await allPending(items.outbox)).map((delivery) => [delivery.seq, delivery.change]));
    for (const { key, version, seq } of acknowledged) expect(deliveries.get(seq)).toMatchObject({ key, version });
    const versions = new Map<string, number>();
    for (const { key, version } of deliveries.values()) {
      expect(version).toBe((versions.get(key) ?? 0) + 1);
      versions.set(key, version);
    }
    for (const [key, version] of versions) expect((await items.get("crash", key))?.version).toBe(version);
    await items.close();
  });
});

/** Lets a real process write as fast as it can and kills it with -9 once it has acknowledged `count` writes. */
async function writeUntilKilled(folder: string, durability: string, count: number): Promise<Acknowledged[]> {
  const program = new URL("../testing/endless-writer.js", import.meta.url).pathname;
  const child = spawn(process.execPath, [program, folder, durability], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const acknowledged: Acknowledged[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    // The last line may be cut by the kill.
    if (!/^key-\d+ \d+ \d+$/.test(line)) continue;
    const [key = "", version = "", seq = ""] = line.split(" ");
    acknowledged.push({ key, version: Number(version), seq: Number(seq) });
    if (acknowledged.length === count) child.kill("SIGKILL");
  }
  await exited;
  return acknowledged;
}

async function allPending(outbox: Outbox): Promise<Delivery[]> {
  const all: Delivery[] = [];
  for (;;) {
    const page = await outbox.pending({
      watcher: "watcher",
      after: all[all.length - 1]?.seq ?? 0,
      limit: 1_000,
      maxBytes: 1_000_000,
    });
    if (page.length === 0) return all;
    all.push(...page);
  }
}
