import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { say } from "../support/say.ts";
import { faultsFolder, ImageDisk } from "./disks.ts";
import { amount, runtimes } from "./runs.ts";
import { moments, pause, Scene } from "./scene.ts";

const CUTS = amount(50, 4);
const OPERATIONS = 1_250 * CUTS;

describe("an engine with repeated power cuts under sets and updates from four workers", () => {
  it.each(runtimes())(
    "keeps every acknowledged write, leaves no gap in versions, and reports every change at least once and in order, $name (F5)",
    async ({ name, node }) => {
      const folder = faultsFolder("power-cut");
      const disk = new ImageDisk(folder, 256);
      let scene: Scene | undefined;
      try {
        scene = await Scene.open({
          name: "power cut",
          folder,
          dataDir: join(disk.mountPoint, "data"),
          operations: OPERATIONS,
          node,
        });
        const { load, random } = scene;
        load.begin();
        for (const moment of moments(CUTS, OPERATIONS, random)) {
          await load.reached(moment);
          await pause(random() * 50);
          // Stopped first: a copy made while the engine writes is not consistent.
          scene.engine.child.kill("SIGSTOP");
          await disk.cut(() => (scene as Scene).kill());
          await scene.startAgain();
          say(`power cut: after ${load.done()} operations; the engine is up again`);
        }
        expect(await scene.problems(`${CUTS} power cuts by block-device snapshot, ${name}`)).toEqual([]);
      } finally {
        await scene?.close();
        disk.unmount();
      }
    },
  );
});
