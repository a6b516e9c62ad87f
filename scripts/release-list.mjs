// Prints what a release publishes. Plain Node without dependencies.
import { limitKey, SIZE_LIMITS, size, unpackedBytes } from "./release-checks.mjs";

const HEADS = ["REGISTRY", "PACKAGE", "FILE", "FILES", "PACKED", "UNPACKED", "LIMITS"];

/**
 * Returns the lines of the list: the version, a table of the packages, and the commands that publish them.
 *
 * @param {readonly import("./release-checks.mjs").Package[]} packages
 * @param {{ version: string, tag: string, commands: readonly string[], limits?: typeof SIZE_LIMITS }} options
 */
export function releaseLines(packages, { version, tag, commands, limits = SIZE_LIMITS }) {
  const rows = packages.map((one) => {
    const limit = limits[limitKey(one)];
    return [
      one.kind === "npm" ? "npm" : "PyPI",
      one.name,
      one.file,
      String(one.files.size),
      size(one.packedBytes),
      size(unpackedBytes(one.files)),
      `${size(limit.packed)}, ${size(limit.unpacked)}`,
    ];
  });
  return [
    "",
    `Version ${version}, on npm with the tag ${tag}:`,
    "",
    ...columns([HEADS, ...rows]),
    "",
    "Commands that publish it:",
    "",
    ...commands.map((command) => `  ${command}`),
  ];
}

function columns(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column])).join("  ")}`.trimEnd());
}
