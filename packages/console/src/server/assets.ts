import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import sirv from "sirv";

const WEB_DIR = fileURLToPath(new URL("../../dist/web", import.meta.url));
const PAGE_SECURITY = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-frame-options": "DENY",
} as const;

/** Serves the built web application: hashed assets for ever, index.html for every page's address, with a nonce for styles and the page's token. */
export class Assets {
  readonly #serve = sirv(WEB_DIR, {
    etag: true,
    brotli: true,
    gzip: true,
    dotfiles: false,
    extensions: [],
    setHeaders: (response, path) => setCaching(response, path),
  });
  #index: string | undefined;

  async serve(request: IncomingMessage, response: ServerResponse, pageToken: string): Promise<void> {
    const path = new URL(request.url ?? "/", "http://console").pathname;
    const isFile = path.startsWith("/assets/") || /^\/[\w-]+\.(?:js|svg|ico|png|webmanifest)$/.test(path);
    if (isFile) {
      this.#serve(request, response, () => {
        response.writeHead(404, { "content-type": "text/plain; charset=utf-8", ...PAGE_SECURITY }).end("There is no such file.\n");
      });
      return;
    }
    await this.#page(response, pageToken);
  }

  async #page(response: ServerResponse, pageToken: string): Promise<void> {
    this.#index ??= await readFile(join(WEB_DIR, "index.html"), "utf8");
    const nonce = randomBytes(16).toString("base64url");
    const policy = [
      "default-src 'self'",
      "connect-src 'self'",
      "img-src 'self' data:",
      `style-src 'self' 'nonce-${nonce}'`,
      "script-src 'self'",
      "object-src 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; ");
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store", "content-security-policy": policy, ...PAGE_SECURITY });
    response.end(this.#index.replaceAll("__NONCE__", nonce).replaceAll("__PAGE_TOKEN__", pageToken));
  }
}

function setCaching(response: ServerResponse, path: string): void {
  response.setHeader("cache-control", path.includes("/assets/") ? "public, max-age=31536000, immutable" : "no-cache");
  for (const [name, value] of Object.entries(PAGE_SECURITY)) response.setHeader(name, value);
}
