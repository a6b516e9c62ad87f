// Which code of svc runs: the bundle, or the modules it was made of. Plain JavaScript without dependencies: svc.js and the scripts read it.
import { statSync } from "node:fs";

/** Entry of the bundle that scripts/bundle-cli.mjs makes. */
export const bundleEntry = new URL("../bundle/main.js", import.meta.url);

/** A compiler run that writes any file of a package writes its build record too, so these tell the age of all the code in the bundle. */
const buildRecords = ["cli", "console", "engine", "sdk", "protocol"].map((name) => new URL(`../../${name}/dist/.tsbuildinfo`, import.meta.url));
/** npm writes it at each change of what is installed. */
const installRecord = new URL("../../../node_modules/.package-lock.json", import.meta.url);

/**
 * True when there is a bundle and nothing it was made of has changed since. Where a build record is missing, as in an installed package,
 * nobody can tell, and the answer is false.
 */
export function bundleIsCurrent() {
  const madeAtMs = modifiedAtMs(bundleEntry);
  if (madeAtMs === undefined) return false;
  const builtAtMs = buildRecords.map((record) => modifiedAtMs(record) ?? Number.POSITIVE_INFINITY);
  return Math.max(...builtAtMs, modifiedAtMs(installRecord) ?? 0) <= madeAtMs;
}

function modifiedAtMs(url) {
  return statSync(url, { throwIfNoEntry: false })?.mtimeMs;
}
