import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, request as sendRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import type { Hello } from "../contract/api.ts";
import { type ConsoleServerOptions, type RunningConsole, startConsole } from "./console-server.ts";
import { addConsoleOptions, type ConsoleOptions, readConsoleOptions } from "./options.ts";

/** Parses a command line and environment. */
export function optionsOf(args: readonly string[], env: Readonly<Record<string, string>> = {}): ConsoleOptions {
  const command = addConsoleOptions(new Command("svc-console"))
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  command.parse(args, { from: "user" });
  return readConsoleOptions(command, env);
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

export interface TestConsole {
  readonly port: number;
  readonly pageToken: string;
  readonly console: RunningConsole;
  /** Folder of the page. */
  readonly webDir: string;
  /** Sends a raw request, with a browser's Host by default. */
  send(path: string, asked?: Asked): Promise<Answer>;
  /** Sends a request like the page: JSON with its token. */
  ask(path: string, body?: unknown, more?: Asked): Promise<Answer>;
  stop(): Promise<void>;
}

/** Addresses of an engine, as in `startTestEngine`. */
export interface EngineUrls {
  readonly url: string;
  readonly httpUrl: string;
  readonly streamsUrl: string;
}

/** Nothing listens on port 1. */
export const NO_ENGINE: EngineUrls = {
  url: "ws://127.0.0.1:1",
  httpUrl: "http://127.0.0.1:1",
  streamsUrl: "ws://127.0.0.1:1",
};

/** Parts that a test replaces. */
export type TestConsoleParts = Pick<ConsoleServerOptions, "now" | "note">;

/** A console on a free port with a page of two files. */
export async function testConsole(
  engine: EngineUrls = NO_ENGINE,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  parts: TestConsoleParts = {},
): Promise<TestConsole> {
  const webDir = mkdtempSync(join(tmpdir(), "svc-console-web-"));
  mkdirSync(join(webDir, "assets"));
  writeFileSync(
    join(webDir, "index.html"),
    '<!doctype html><meta name="svc-nonce" content="__NONCE__"><meta name="svc-page-token" content="__PAGE_TOKEN__">',
  );
  writeFileSync(join(webDir, "assets/main-1.js"), "export {};\n");
  writeFileSync(join(webDir, "assets/main-1.js.br"), "brotli");
  writeFileSync(join(webDir, "assets/main-1.js.gz"), "gzip");
  writeFileSync(join(webDir, "favicon.svg"), "<svg/>");
  writeFileSync(join(webDir, "..secret.txt"), "secret");
  const portOf = (url: string): string => new URL(url).port;
  const flags = [
    "--port",
    "0",
    "--engine-port",
    portOf(engine.httpUrl),
    "--ws-port",
    portOf(engine.streamsUrl),
    "--bridge-port",
    portOf(engine.url),
  ];
  let console: RunningConsole;
  try {
    console = await startConsole({ ...optionsOf([...flags, ...args], env), webDir, note: () => {}, ...parts });
  } catch (error) {
    rmSync(webDir, { recursive: true, force: true });
    throw error;
  }
  const port = Number(new URL(console.url).port);
  const send = (path: string, { method = "GET", headers = {}, body, signal }: Asked = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const request = sendRequest({
        host: "127.0.0.1",
        port,
        path,
        method,
        headers,
        agent: false,
        ...(signal === undefined ? {} : { signal }),
      });
      request.on("error", reject);
      request.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString("utf8"),
          }),
        );
      });
      request.end(body);
    });
  const page = await send("/");
  const pageToken = /svc-page-token" content="([^"]+)"/.exec(page.body)?.[1] ?? "";
  return {
    port,
    pageToken,
    console,
    webDir,
    send,
    ask: (path, body, more = {}) =>
      send(path, {
        method: body === undefined ? "GET" : "POST",
        ...more,
        headers: { "content-type": "application/json", "x-svc-console": pageToken, ...more.headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    async stop() {
      await console.close();
      rmSync(webDir, { recursive: true, force: true });
    },
  };
}

/** Returns `data` of a successful response. */
export function dataOf<Data = Hello>(answer: Answer): Data {
  const parsed = JSON.parse(answer.body) as { readonly ok: boolean; readonly data: Data };
  if (!parsed.ok) throw new Error(`the console answered ${answer.status}: ${answer.body}`);
  return parsed.data;
}

/** Returns `error` of a failed response. */
export function errorOf(answer: Answer): { readonly code: string; readonly message: string } {
  return (JSON.parse(answer.body) as { readonly error: { readonly code: string; readonly message: string } }).error;
}
