import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Load } from "../state-load/load.ts";
import { finalItems, say } from "../state-load/look.ts";
import { eventually } from "../support/processes.ts";
import { faultsFolder, mountSmallDisk } from "./disks.ts";
import { moments, pause, Scene } from "./scene.ts";

const OPERATIONS = 6_000;
const TIMES = 4;

/** Writes until nothing fits any more. */
function fill(file: string): void {
  const handle = openSync(file, "w");
  try {
    for (const size of [1024 * 1024, 4096, 1]) {
      const bytes = Buffer.alloc(size);
      try {
        for (;;) writeSync(handle, bytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    }
  } finally {
    closeSync(handle);
  }
}

function refusals(load: Load): number {
  return load.history().failures.get("storage_failed") ?? 0;
}

describe("an engine whose disk is full four times for a while", () => {
  it("refuses writes and goes on reading, works again by itself, and has lost nothing, also after a kill -9 (F6)", async () => {
    const folder = faultsFolder("full-disk");
    const disk = mountSmallDisk(folder, 24);
    const ballast = join(disk.mountPoint, "ballast");
    let scene: Scene | undefined;
    try {
      scene = await Scene.open({ name: "full disk", folder, dataDir: join(disk.mountPoint, "data"), operations: OPERATIONS });
      const { load, looker, random } = scene;
      load.begin();
      for (const moment of moments(TIMES, OPERATIONS * 0.8, random)) {
        await load.reached(moment);
        const refused = refusals(load);
        fill(ballast);
        await eventually("a write was refused", () => refusals(load) > refused);
        await pause(500);
        expect(await looker.call({ function_id: "state::get", payload: { scope: "load", key: "never" } })).toBeNull();
        rmSync(ballast);
        say(`full disk: after ${load.done()} operations; there is room again`);
      }
      expect(await scene.problems("full disk")).toEqual([]);
      const before = await finalItems(looker);
      await scene.kill();
      await scene.startAgain();
      expect(await finalItems(looker)).toEqual(before);
    } finally {
      await scene?.close();
      disk.unmount();
    }
  });
});
