import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

export interface PageServer {
  /** e.g. `http://localhost:40123`. */
  readonly origin: string;
  stop(): Promise<void>;
}

/**
 * Serves an empty page with the SDK, bundled as users bundle it for browsers, as the global `svc`. The parts that pages
 * load on demand are files of their own, below `/parts/`.
 */
export async function servePage(): Promise<PageServer> {
  const scripts = await bundledSdk();
  const server = createServer((request, response) => {
    const script = scripts.get(request.url ?? "");
    if (script !== undefined) response.setHeader("content-type", "text/javascript").end(script);
    else if (request.url === "/")
      response
        .setHeader("content-type", "text/html")
        .end('<!doctype html><title>page</title><script type="module" src="/svc.js"></script>');
    else response.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Returns the scripts by their paths. */
async function bundledSdk(): Promise<ReadonlyMap<string, string>> {
  const bundle = await rolldown({
    input: "page",
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    platform: "browser",
    resolve: { conditionNames: ["browser", "import", "default"] },
    plugins: [
      {
        name: "page",
        resolveId: (id) => (id === "page" ? id : undefined),
        load: (id) => (id === "page" ? 'import * as svc from "@svc-runtime/sdk"; globalThis.svc = svc;' : undefined),
      },
    ],
    // A warning reports something that a browser does not have.
    onLog(_level, log) {
      throw new Error(log.message);
    },
  });
  try {
    const { output } = await bundle.generate({
      format: "esm",
      entryFileNames: "svc.js",
      chunkFileNames: "parts/[name].js",
      minify: true,
    });
    return new Map(output.flatMap((file) => (file.type === "chunk" ? [[`/${file.fileName}`, file.code]] : [])));
  } finally {
    await bundle.close();
  }
}
