// Tells whether svc runs from the bundle or from the compiled modules. Plain JavaScript without dependencies, because
// svc.js and the scripts import it.
import { existsSync, statSync } from "node:fs";

/** Entry of the bundle that scripts/bundle-cli.mjs makes. */
export const bundleEntry = new URL("../bundle/main.js", import.meta.url);

/**
 * The compiler updates the build record of a package whenever it writes one of its files, so the records date all
 * bundled code.
 */
const buildRecords = ["cli", "console", "engine", "observability", "sdk", "protocol"].map(
  (name) => new URL(`../../${name}/dist/.tsbuildinfo`, import.meta.url),
);
/** npm writes this file whenever the installed packages change. */
const installRecord = new URL("../../../node_modules/.package-lock.json", import.meta.url);

/** Published packages contain no sources. */
const sources = new URL("../src", import.meta.url);

/**
 * Returns true if the bundle exists and none of its inputs is newer. That of an installed package belongs to the
 * versions of its other packages, which it names exactly. In a clone a missing build record means false.
 */
export function bundleIsCurrent() {
  const madeAtMs = modifiedAtMs(bundleEntry);
  if (madeAtMs === undefined) return false;
  if (!existsSync(sources)) return true;
  const builtAtMs = buildRecords.map((record) => modifiedAtMs(record) ?? Number.POSITIVE_INFINITY);
  return Math.max(...builtAtMs, modifiedAtMs(installRecord) ?? 0) <= madeAtMs;
}

function modifiedAtMs(url) {
  return statSync(url, { throwIfNoEntry: false })?.mtimeMs;
}
