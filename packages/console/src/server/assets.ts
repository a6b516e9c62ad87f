import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import sirv from "sirv";
import { sendError } from "./respond.ts";
import { contentSecurityPolicy, SECURITY_HEADERS } from "./security-headers.ts";

const WEB_DIR = fileURLToPath(new URL("../../dist/web", import.meta.url));

/**
 * Paths of files, never of pages: below `assets/` or `labels/`, or at the root with a file extension. A missing file is 404, never
 * HTML.
 */
const FILE = /^\/(?:assets|labels)\/|^\/[\w.-]+\.(?:css|ico|js|json|map|png|svg|txt|webmanifest|woff2)$/;

/**
 * Serves the built web application: hashed assets with an immutable cache header, and index.html for every page's
 * address, with a nonce for styles and the page's token.
 */
export class Assets {
  readonly #dir: string;
  /** Knows the files that existed when it was created. */
  #serve: ReturnType<typeof sirv>;
  #index: { readonly html: string; readonly version: string } | undefined;

  /** Throws an Error if the application is not built. */
  constructor(dir: string = WEB_DIR) {
    if (!existsSync(join(dir, "index.html"))) {
      throw new Error(
        `the console's page is not built: ${join(dir, "index.html")} is missing; run \`npm run build:web -w @svc-runtime/console\` at the root of the repository`,
      );
    }
    this.#dir = dir;
    this.#serve = filesOf(dir);
  }

  /** `path` is the request's path without its query. */
  async serve(path: string, request: IncomingMessage, response: ServerResponse, pageToken: string): Promise<void> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      sendError(
        response,
        405,
        { code: "method_not_allowed", message: `${path} accepts only GET` },
        { allow: "GET, HEAD" },
      );
      return;
    }
    if (!FILE.test(path)) {
      await this.#page(request, response, pageToken);
      return;
    }
    // A file may be deleted while the page is rebuilt. Only this response is aborted then.
    response.on("pipe", (file) => file.on("error", () => response.destroy()));
    this.#serve(request, response, () => {
      response
        .writeHead(404, {
          "content-type": "text/plain; charset=utf-8",
          "cache-control": "no-store",
          ...SECURITY_HEADERS,
        })
        .end("File not found.\n");
    });
  }

  async #page(request: IncomingMessage, response: ServerResponse, pageToken: string): Promise<void> {
    const index = await this.#currentIndex();
    const nonce = randomBytes(16).toString("base64url");
    // Both values are random letters and digits, so no user input reaches the HTML.
    const html = index.replaceAll("__NONCE__", nonce).replaceAll("__PAGE_TOKEN__", pageToken);
    response.writeHead(200, {
      ...SECURITY_HEADERS,
      "content-type": "text/html; charset=utf-8",
      "content-length": Buffer.byteLength(html),
      "cache-control": "no-store",
      "content-security-policy": contentSecurityPolicy(nonce),
    });
    response.end(request.method === "HEAD" ? undefined : html);
  }

  /**
   * Returns the current index.html, because a rebuilt one refers to other files. While it is missing, returns the
   * previous one.
   */
  async #currentIndex(): Promise<string> {
    const path = join(this.#dir, "index.html");
    try {
      const { mtimeMs, size } = await stat(path);
      const version = `${mtimeMs} ${size}`;
      if (this.#index?.version !== version) {
        const html = await readFile(path, "utf8");
        if (this.#index !== undefined) this.#serve = filesOf(this.#dir);
        this.#index = { html, version };
      }
    } catch (error) {
      if (this.#index === undefined) throw error;
    }
    return this.#index.html;
  }
}

function filesOf(dir: string): ReturnType<typeof sirv> {
  return sirv(dir, { etag: true, brotli: true, gzip: true, dotfiles: false, extensions: [], setHeaders });
}

function setHeaders(response: ServerResponse, path: string): void {
  response.setHeader("cache-control", path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache");
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
}
