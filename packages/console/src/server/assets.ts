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
 * Paths that are only those of files and never of pages: paths below `assets/` or `labels/`, and paths at the root with
 * a file extension. If such a file is missing, the response is 404 and never HTML.
 */
const FILE = /^\/(?:assets|labels)\/|^\/[\w.-]+\.(?:css|ico|js|json|map|png|svg|txt|webmanifest|woff2)$/;

/**
 * Serves the built web application. Files with a hash in their name have an immutable cache header. The address of any
 * page returns index.html, with a nonce for styles and the page's token.
 */
export class Assets {
  readonly #dir: string;
  /** Serves files. It knows only the files that existed when it was created. */
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

  /** Serves a file or index.html. `path` is the path of the request, without the query. */
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
    // A file may be deleted while the application is built again. In this case only the response for this file is
    // aborted.
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
    // Both values consist of random letters and digits, so they cannot insert HTML.
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
   * Returns the current index.html. It is read again when it changes, because a new build refers to other files. While
   * the file is missing during a build, returns the previous one.
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
