import { copyFileSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { say } from "../support/say.ts";
import { faultsFolder, run } from "./disks.ts";
import { amount, runtimes } from "./runs.ts";
import { moments, pause, Scene } from "./scene.ts";

const CUTS = amount(50, 3);
const OPERATIONS = 2_000 * CUTS;
/** Duration of failing syncs, in milliseconds. */
const FAILURE_MS = 1_500;

describe("an engine whose disk fails syncs for 1.5 s and then works, with a power cut later", () => {
  it.each(runtimes())(
    "keeps every acknowledged write, including those after the disk worked again, $name",
    async ({ name, node }) => {
      const folder = realpathSync(faultsFolder("lost-pages"));
      const shim = join(folder, "lost-pages.so");
      run(
        "cc",
        "-shared",
        "-fPIC",
        "-O1",
        "-o",
        shim,
        fileURLToPath(new URL("../../src/faults/lost-pages.c", import.meta.url)),
        "-ldl",
        "-lpthread",
      );
      const [dataDir, image, failFile] = [join(folder, "data"), join(folder, "image"), join(folder, "syncs-fail")];
      for (const made of [dataDir, image]) mkdirSync(made);
      const env = { LD_PRELOAD: shim, DATA_DIR: dataDir, IMAGE_DIR: image, FAIL_FILE: failFile };
      const scene = await Scene.open({ name: "lost pages", folder, dataDir, operations: OPERATIONS, env, node });
      try {
        const { load, random } = scene;
        load.begin();
        for (const moment of moments(CUTS, OPERATIONS, random)) {
          await load.reached(moment);
          writeFileSync(failFile, "");
          await pause(FAILURE_MS);
          rmSync(failFile);
          await load.reached(Math.min(OPERATIONS, load.done() + 200));
          await pause(random() * 200);
          await scene.kill();
          putBack(image, dataDir);
          await scene.startAgain();
          say(`lost pages: after ${load.done()} operations; the engine is up again`);
        }
        expect(await scene.problems(`${CUTS} times failed syncs, then a power cut, ${name}`)).toEqual([]);
        expect(load.history().failures.get("storage_failed")).toBeGreaterThan(0);
      } finally {
        await scene.close();
      }
    },
  );
});

/** The database files on the disk. */
function putBack(image: string, dataDir: string): void {
  for (const name of readdirSync(dataDir)) if (name.includes(".db")) rmSync(join(dataDir, name));
  for (const name of readdirSync(image)) copyFileSync(join(image, name), join(dataDir, name));
}
