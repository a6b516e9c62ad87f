import { readFile } from "node:fs/promises";
import { register } from "node:module";
import { isMainThread } from "node:worker_threads";
import ts from "typescript";

// Node 20 runs no TypeScript: `node --conditions=@svc/source --import <this file>` runs the sources in a child process.
if (isMainThread) register(import.meta.url);

export async function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const source = await readFile(new URL(url), "utf8");
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023, verbatimModuleSyntax: true };
  return { format: "module", shortCircuit: true, source: ts.transpileModule(source, { compilerOptions: options }).outputText };
}
