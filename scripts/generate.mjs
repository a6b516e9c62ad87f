// `npm run generate`: writes every file that is generated from a definition elsewhere. `--check` writes nothing and
// fails on a difference. Reads the built packages, so run `npm run build` first.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { labelCatalogue } from "./console-labels.mjs";
import { cliReference } from "./generate/cli-reference.mjs";
import { configReference, configSchema } from "./generate/config-reference.mjs";
import { engineFlagsSource } from "./generate/engine-flags.mjs";
import { errorCodesReference } from "./generate/error-codes-reference.mjs";
import { functionsReference } from "./generate/functions-reference.mjs";
import { messagesReference, messagesSchema } from "./generate/messages-reference.mjs";
import { pythonProtocol } from "./generate/python-protocol.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const protocol = await import(join(root, "packages/protocol/dist/index.js"));
const engine = await import(join(root, "packages/engine/dist/index.js"));
const cli = Object.assign(
  {},
  ...(await Promise.all(
    ["command-tree", "exit-codes", "program"].map((name) => import(join(root, `packages/cli/dist/${name}.js`))),
  )),
);
const modules = await engine.loadModules();
const schema = engine.configJsonSchema(modules);

const files = {
  "packages/protocol/schema/messages.json": messagesSchema(protocol),
  "python/src/svc/protocol.py": pythonProtocol(protocol),
  "packages/cli/src/commands/engine-flags.ts": engineFlagsSource(engine),
  "docs/reference/messages.md": messagesReference(protocol),
  "docs/reference/error-codes.md": errorCodesReference(protocol),
  "docs/reference/cli.md": cliReference(cli),
  "docs/reference/functions.md": await functionsReference(engine, modules),
  "docs/reference/config.md": configReference(schema),
  "docs/reference/config.schema.json": configSchema(schema),
  "packages/console/src/web/labels/en.json": labelCatalogue(),
};

const isCheck = process.argv.includes("--check");
const differing = [];
for (const [path, text] of Object.entries(files)) {
  const file = join(root, path);
  const current = await readFile(file, "utf8").catch((error) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (current === text) continue;
  differing.push(path);
  if (isCheck) continue;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
if (isCheck && differing.length > 0) {
  console.error(
    `These files differ from their definitions; run \`npm run generate\` and commit them:\n${differing.map((path) => `  ${path}`).join("\n")}`,
  );
  process.exit(1);
}
console.error(differing.length === 0 ? "Generated files are up to date." : `Written: ${differing.join(", ")}`);
