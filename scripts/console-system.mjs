// Starts programs for scripts that use the console: an engine with a config and a console, on free ports, in a folder
// of their own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./steps.mjs";

/**
 * Resolves with the addresses of the console and of HTTP, and with functions that start a worker, in this process or as
 * a program.
 *
 * @param {string} config of the engine
 * @param {(() => unknown)[]} undo receives the clean-up functions, to be called in reverse order
 */
export async function startSystem(config, undo) {
  const folder = mkdtempSync(join(tmpdir(), "svc-console-"));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "config.yaml"), config);
  const [bridge, http, realtime] = await freePorts(3);
  const ports = (...names) => names.flatMap((name, at) => [`--${name}`, String([bridge, http, realtime][at])]);
  await start(
    [
      "packages/cli/bin/svc.js",
      "--config",
      "config.yaml",
      "--log",
      "json",
      ...ports("bridge-port", "http-port", "ws-port"),
    ],
    folder,
    /the engine is up/,
    undo,
  );
  const [, url] = await start(
    [
      "packages/console/bin/svc-console.js",
      "--port",
      "0",
      "--enable-flow",
      ...ports("bridge-port", "engine-port", "ws-port"),
    ],
    folder,
    /(http:\/\/[\w.:[\]-]+?)\/workers/,
    undo,
  );
  const { connect, silentLogger } = await import(join(root, "packages/sdk/dist/node.js"));
  // Logs of handlers are sent to the engine, but not printed.
  const unwritten = { ...silentLogger, level: "debug" };
  return {
    url,
    http: `http://localhost:${http}`,
    /**
     * Starts a worker as a separate program, which ends with the others. Resolves when it has printed the expected
     * text.
     */
    program: (command, awaited) => start(command, folder, awaited, undo, { SVC_URL: `ws://localhost:${bridge}` }),
    async worker(name) {
      const connected = connect(`ws://localhost:${bridge}`, { name, logger: unwritten, handleSignals: false });
      undo.push(() => connected.shutdown());
      await connected.connected();
      return connected;
    },
  };
}

/** Opens the browser of the browser tests. */
export async function openBrowser(undo) {
  const { startBrowser } = await import(join(root, "e2e/dist/support/browser.js"));
  const browser = await startBrowser();
  undo.push(() => browser.close());
  return browser;
}

/** Starts a program of svc. Resolves with the expected part of its output. */
async function start([bin, ...args], cwd, awaited, undo, more = {}) {
  const { SVC_URL: _, ...env } = process.env;
  const child = spawn(process.execPath, [join(root, bin), ...args], {
    cwd,
    env: { ...env, ...more, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  undo.push(async () => {
    if (child.exitCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "close");
  });
  let output = "";
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output = (output + chunk).slice(-10_000);
        const found = awaited.exec(output);
        if (found !== null) resolve(found);
      });
    }
    child.once("close", (code) => reject(new Error(`${bin} ended (${code}):\n${output}`)));
  });
}

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
