#!/usr/bin/env node
// Plain JavaScript: npm must be able to link it before the build, and old Node versions must be able to parse it.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { bundleEntry, bundleIsCurrent } from "./current-bundle.js";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const built = new URL("../dist/main.js", import.meta.url);

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `svc needs Node 20.19 or later; this is ${process.version}. Install a newer one from https://nodejs.org and try again.`,
  );
  process.exitCode = 1;
} else if (!existsSync(built)) {
  console.error(
    `svc is not built yet: ${fileURLToPath(built)} is missing. Run \`npm run build\` at the root of the repository.`,
  );
  process.exitCode = 1;
} else {
  // The bundle holds the same code in a few files and starts in half the time. Without a current bundle, run the
  // compiled modules.
  const { runAsProcess } = await import(bundleIsCurrent() ? bundleEntry : built);
  await runAsProcess(process);
}
