import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LocalWorkerEntry } from "../../config/types.ts";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { RunRecords } from "./run-records.ts";
import { Unit } from "./unit.ts";
import { type UnitPreparation, workerPreparation } from "./unit-preparation.ts";

const WAIT = { timeout: 9_000, interval: 20 };

let folder: string;
let unit: Unit;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-unit-"));
  await mkdir(join(folder, "w", "data"), { recursive: true });
  await mkdir(join(folder, "logs"));
});

afterEach(async () => {
  await unit.close({ graceMs: 0 });
  await rm(folder, { recursive: true, force: true });
});

function writeManifest(more: string): Promise<void> {
  return writeFile(join(folder, "w", "svc.worker.yaml"), `name: w\nruntime: {kind: other}\n${more}\n`);
}

/** Starts a unit whose manifest is edited just after the first read. */
function begin(edit: () => Promise<void>): void {
  const limits = { memoryBytes: undefined, cpu: undefined };
  const watch = { include: [], ignore: [] };
  const rest = {
    replicas: 1,
    dependsOn: [],
    envFiles: [],
    env: {},
    where: "config.yaml:1",
    configuredPath: "./w",
    overlap: true,
  } as const;
  const entry: LocalWorkerEntry = { name: "w", path: join(folder, "w"), watch, limits, ...rest };
  const preparation = workerPreparation(entry, folder);
  let isEdited = false;
  const read: UnitPreparation["read"] = async () => {
    const plan = preparation.read();
    await plan.catch(() => {});
    if (!isEdited) await edit();
    isEdited = true;
    return plan;
  };
  unit = new Unit(entry, {
    ...{
      logsDir: join(folder, "logs"),
      preparation: { ...preparation, read },
      records: new RunRecords(join(folder, "run")),
    },
    ...{ clock: systemClock, log: silentLogger, telemetry: { log: () => {} }, bridgeUrl: () => "ws://localhost:1" },
    ...{
      overlap: true,
      standby: { assign: () => {}, whenIdle: () => Promise.resolve() },
      waitsFor: () => [],
      othersReady: () => Promise.resolve(),
      unenforced: undefined,
      isHeld: false,
      leftoversEnded: Promise.resolve(),
    },
    ...{ haveRegistered: () => false, sendLogs: () => false, onReady: () => {}, onChange: () => {} },
  });
  unit.begin();
}

describe("an edit that follows the reading of the manifest, before its files are watched", () => {
  it("is used when it puts the manifest right", async () => {
    await writeManifest("scripts: {}");
    begin(() => writeManifest("scripts: {start: exec sleep 300}"));
    await vi.waitFor(async () => expect(await unit.pids()).toHaveLength(1), WAIT);
  });

  it("is used when it changes what to watch", async () => {
    await writeManifest("scripts: {start: exec sleep 300}\nwatch: {ignore: [data]}");
    begin(() => writeManifest("scripts: {start: exec sleep 300}"));
    await vi.waitFor(async () => expect(await unit.pids()).toHaveLength(1), WAIT);
    await writeFile(join(folder, "w", "data", "a.txt"), "1");
    await vi.waitFor(
      async () => expect(await readFile(unit.output.file, "utf8")).toContain("changed: data/a.txt"),
      WAIT,
    );
  });
});
