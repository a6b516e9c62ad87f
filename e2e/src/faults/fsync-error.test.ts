import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { finalItems } from "../state-load/read-results.ts";
import { faultsFolder, run } from "./disks.ts";
import { Scene } from "./scene.ts";

const OPERATIONS = 6_000;
/** One of this many syncs fails. */
const EVERY = 150;

describe("an engine whose disk fails one sync in 150", () => {
  it("acknowledges nothing that was not synced, recovers automatically, and has lost nothing, even after a kill -9 (F6)", async () => {
    const folder = faultsFolder("fsync-error");
    const shim = join(folder, "fsync-error.so");
    run(
      "cc",
      "-shared",
      "-fPIC",
      "-O1",
      "-o",
      shim,
      fileURLToPath(new URL("../../src/faults/fsync-error.c", import.meta.url)),
      "-ldl",
    );
    const env = { LD_PRELOAD: shim, FAULT_EVERY: String(EVERY) };
    const scene = await Scene.open({
      name: "fsync error",
      folder,
      dataDir: join(folder, "data"),
      operations: OPERATIONS,
      env,
    });
    try {
      const { load, caller } = scene;
      load.begin();
      expect(await scene.problems(`one of ${EVERY} syncs fails, then kill -9`)).toEqual([]);
      expect(load.history().failures.get("storage_failed")).toBeGreaterThan(0);
      const before = await finalItems(caller);
      await scene.kill();
      await scene.startAgain();
      expect(await finalItems(caller)).toEqual(before);
    } finally {
      await scene.close();
    }
  });
});
