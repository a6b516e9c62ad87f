import { expect, it } from "vitest";
import { releaseLines } from "./release-list.mjs";

it("lists the packages with their sizes and limits, and the commands", () => {
  const files = new Map([["a.js", Buffer.alloc(1_500)]]);
  const limits = {
    "svc-runtime": { packed: 2_000, unpacked: 3_000 },
    "svc-runtime (wheel)": { packed: 1, unpacked: 2 },
  };
  const lines = releaseLines(
    [
      { kind: "npm", name: "svc-runtime", file: "svc-runtime-1.2.3.tgz", packedBytes: 900, files },
      { kind: "wheel", name: "svc-runtime", file: "svc_runtime-1.2.3.whl", packedBytes: 10_000, files },
    ],
    { version: "1.2.3", tag: "latest", commands: ["npm publish"], limits },
  );
  expect(lines).toEqual([
    "",
    "Version 1.2.3, on npm with the tag latest:",
    "",
    "  REGISTRY  PACKAGE      FILE                   FILES  PACKED  UNPACKED  LIMITS",
    "  npm       svc-runtime  svc-runtime-1.2.3.tgz  1      1 kB    2 kB      2 kB, 3 kB",
    "  PyPI      svc-runtime  svc_runtime-1.2.3.whl  1      10 kB   2 kB      1 kB, 1 kB",
    "",
    "Commands that publish it:",
    "",
    "  npm publish",
  ]);
});
