import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { say } from "../state-load/look.ts";
import { faultsFolder, ImageDisk } from "./disks.ts";
import { moments, pause, Scene } from "./scene.ts";

const OPERATIONS = 10_000;
const CUTS = 8;

describe("an engine whose power is cut eight times under 10,000 sets and updates from four workers", () => {
  it("keeps every acknowledged write, leaves no gap in versions, and tells of every change at least once and in order (F5)", async () => {
    const folder = faultsFolder("power-cut");
    const disk = new ImageDisk(folder, 128);
    let scene: Scene | undefined;
    try {
      scene = await Scene.open({ name: "power cut", folder, dataDir: join(disk.mountPoint, "data"), operations: OPERATIONS });
      const { load, random } = scene;
      load.begin();
      for (const moment of moments(CUTS, OPERATIONS, random)) {
        await load.reached(moment);
        await pause(random() * 50);
        // Stopped first: a copy that is made while somebody writes is no moment.
        scene.engine.child.kill("SIGSTOP");
        await disk.cut(() => (scene as Scene).kill());
        await scene.startAgain();
        say(`power cut: after ${load.done()} operations; the engine is up again`);
      }
      expect(await scene.problems("power cut")).toEqual([]);
    } finally {
      await scene?.close();
      disk.unmount();
    }
  });
});
