#!/usr/bin/env node
// Committed as plain JavaScript, so that npm can link it before anything is built and so that it runs on a Node too old for the rest.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const built = new URL("../dist/server/main.js", import.meta.url);

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `svc-console needs Node 20.19 or later; this is ${process.version}. Install a newer one from https://nodejs.org and try again.`,
  );
  process.exitCode = 1;
} else if (!existsSync(built)) {
  console.error(
    `svc-console is not built yet: ${fileURLToPath(built)} is missing. Run \`npm run build\` at the root of the repository.`,
  );
  process.exitCode = 1;
} else {
  const { main } = await import(built);
  process.exitCode = await main(process.argv.slice(2), process);
}
