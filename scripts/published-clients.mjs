// Installs the published Python clients, which the compatibility tests use as black boxes, in exactly the versions of
// their requirements files, into .cache/compat/python-0.11 and -0.22. Does nothing for files that have not changed since.
// `node scripts/published-clients.mjs` runs it alone.
import { pathToFileURL } from "node:url";
import { installPinnedPython } from "./python-environment.mjs";
import { interruptSignal, reportFailure, stepRunner } from "./steps.mjs";

const VERSIONS = ["0.11", "0.22"];

/** @param {{ signal: AbortSignal, note: (line: string) => void, outcome: (text: string) => void }} context */
export async function installPublishedPython({ signal, note, outcome }) {
  const installed = [];
  for (const version of VERSIONS) {
    const paths = {
      environment: `.cache/compat/python-${version}`,
      requirements: `e2e/src/compat/clients/python-${version}-requirements.txt`,
    };
    if ((await installPinnedPython(paths, { signal, note })).isNew) installed.push(version);
  }
  if (installed.length === 0) outcome("up to date");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const signal = interruptSignal();
  const { step } = stepRunner({ total: 1, signal });
  try {
    await step("Installing the published Python clients", installPublishedPython);
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}
