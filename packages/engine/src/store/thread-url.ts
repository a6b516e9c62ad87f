import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker, type WorkerOptions } from "node:worker_threads";

/**
 * Where a thread finds a file of ours as JavaScript, given its URL as the sources write it: `new URL("./x.ts", import.meta.url)`.
 * Built code has `x.js` beside it. Code that runs from source (`…/src/`, as tests do) gets the built `…/dist/x.js`, because Node 20
 * cannot run TypeScript in a worker thread; the build must have run. Throws Error when there is no such file.
 */
export function threadUrl(source: URL): URL {
  if (!source.pathname.endsWith(".ts")) return source;
  const built = new URL(source);
  built.pathname = inDist(source.pathname).replace(/\.ts$/, ".js");
  if (!existsSync(built)) throw new Error(`${fileURLToPath(built)} is missing: the store thread runs built files, so run \`npm run build\` first`);
  return built;
}

/**
 * Starts a thread with one of our files, given as for `threadUrl`. Tests run Node with the export condition `@svc/source`;
 * the thread must not inherit it, since built files import built files of other packages.
 */
export function startWorker(source: URL, options: WorkerOptions): Worker {
  return new Worker(threadUrl(source), source.pathname.endsWith(".ts") ? { ...options, execArgv: [] } : options);
}

/** The innermost `src` folder is the package's, unless the file is in a `dist` already. */
function inDist(path: string): string {
  const at = path.lastIndexOf("/src/");
  return at > path.lastIndexOf("/dist/") ? `${path.slice(0, at)}/dist/${path.slice(at + "/src/".length)}` : path;
}
