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

/** Serves an empty page with the SDK, bundled as users bundle it for browsers, as the global `svc`. */
export async function servePage(): Promise<PageServer> {
  const script = await bundledSdk();
  const server = createServer((request, response) => {
    if (request.url === "/svc.js") response.setHeader("content-type", "text/javascript").end(script);
    else if (request.url === "/")
      response
        .setHeader("content-type", "text/html")
        .end('<!doctype html><title>page</title><script src="/svc.js"></script>');
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

async function bundledSdk(): Promise<string> {
  const bundle = await rolldown({
    input: "@svc-runtime/sdk",
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    platform: "browser",
    resolve: { conditionNames: ["browser", "import", "default"] },
    // A warning reports something that a browser does not have.
    onLog(_level, log) {
      throw new Error(log.message);
    },
  });
  try {
    const { output } = await bundle.generate({ format: "iife", name: "svc", minify: true });
    return output[0].code;
  } finally {
    await bundle.close();
  }
}
