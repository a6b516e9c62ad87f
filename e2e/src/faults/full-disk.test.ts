import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { CallError, Worker } from "@svc-runtime/sdk";
import { describe, expect, it } from "vitest";
import { finalItems } from "../state-load/read-results.ts";
import { eventually } from "../support/processes.ts";
import { say } from "../support/say.ts";
import { faultsFolder, mountSmallDisk } from "./disks.ts";
import { moments, pause, Scene } from "./scene.ts";

const OPERATIONS = 6_000;
const TIMES = 4;
const DISK_MEGABYTES = 24;

/** Writes until the disk is full. */
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

/**
 * The load overwrites its data, for which the files may have space. This needs more. Returns the code of the refusal.
 */
async function writeUntilRefused(worker: Worker): Promise<string> {
  const value = "x".repeat(1024 * 1024);
  for (let number = 0; number < 2 * DISK_MEGABYTES; number++) {
    try {
      await worker.call({ function_id: "state::set", payload: { scope: "filler", key: String(number), value } });
    } catch (error) {
      return (error as CallError).code;
    }
  }
  return "nothing was refused";
}

async function deleteWritten(worker: Worker): Promise<boolean> {
  try {
    await worker.call({ function_id: "state::delete_many", payload: { scope: "filler", prefix: "" } });
    return true;
  } catch (error) {
    if ((error as CallError).code === "storage_failed") return false;
    throw error;
  }
}

describe("an engine whose disk is full four times for a while", () => {
  it("rejects writes and still reads, recovers automatically, and has lost nothing, even after a kill -9 (F6)", async () => {
    const folder = faultsFolder("full-disk");
    const disk = mountSmallDisk(folder, DISK_MEGABYTES);
    const ballast = join(disk.mountPoint, "ballast");
    let scene: Scene | undefined;
    try {
      scene = await Scene.open({
        name: "full disk",
        folder,
        dataDir: join(disk.mountPoint, "data"),
        operations: OPERATIONS,
      });
      const { load, caller, random } = scene;
      load.begin();
      for (const moment of moments(TIMES, OPERATIONS * 0.8, random)) {
        await load.reached(moment);
        fill(ballast);
        expect(await writeUntilRefused(caller)).toBe("storage_failed");
        await pause(500);
        expect(await caller.call({ function_id: "state::get", payload: { scope: "load", key: "never" } })).toBeNull();
        rmSync(ballast);
        await eventually("the engine writes again by itself", () => deleteWritten(caller));
        say(`full disk: after ${load.done()} operations; there is room again`);
      }
      expect(await scene.problems(`the disk is full ${TIMES} times, then kill -9`)).toEqual([]);
      const before = await finalItems(caller);
      await scene.kill();
      await scene.startAgain();
      expect(await finalItems(caller)).toEqual(before);
    } finally {
      await scene?.close();
      disk.unmount();
    }
  });
});
