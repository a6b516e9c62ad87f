import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { EXIT } from "../exit-codes.ts";
import { run } from "../main.ts";
import { startTestEngine, testProject } from "../running-engine.test-support.ts";
import { type RecordedShell, recordedShell } from "../shell.test-support.ts";

let server: Server | undefined;
afterEach(() => {
  vi.unstubAllEnvs();
  server?.close();
  server = undefined;
});

/** Responds to every upgrade with the status and body. Returns its address. */
async function refusing(status: number, body: string): Promise<string> {
  server = createServer().on("upgrade", (_request, socket) => {
    socket.end(
      `HTTP/1.1 ${status} X\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function list(
  url: string,
  shell: RecordedShell = recordedShell(),
): Promise<{ readonly status: number; readonly notes: string }> {
  const status = await run(["worker", "list", "--url", url], shell);
  return { status, notes: shell.written.notes };
}

it("a command sends the token of its own project's engine, and reports a missing token for another", {
  timeout: 30_000,
}, async () => {
  const project = testProject("workers: []\nengine: {mode: production}\n");
  try {
    const engine = await startTestEngine(project);
    try {
      expect(await run(["worker", "list"], recordedShell({ cwd: project.dir }))).toBe(EXIT.done);
      const stranger = await list(engine.url, recordedShell({ cwd: join(project.dir, "..") }));
      expect(stranger.status).toBe(EXIT.failed);
      expect(stranger.notes).toContain(`The engine at ${engine.url} requires a token, but none was sent: `);
      expect(stranger.notes).toContain(".svc/token");
      vi.stubEnv("SVC_TOKEN", "not-the-engine-s");
      const wrong = await list(engine.url);
      expect(wrong.status).toBe(EXIT.failed);
      expect(wrong.notes).toContain(`The engine at ${engine.url} rejected the token: `);
      expect(wrong.notes).toContain("the environment variable SVC_TOKEN");
      expect(wrong.notes).not.toContain("Start one");
    } finally {
      await engine.stop();
    }
  } finally {
    project.remove();
  }
});

describe("a command that is rejected for another reason", () => {
  it.each([503, 403, 421])("shows the engine's message for %i", async (code) => {
    const url = await refusing(code, JSON.stringify({ error: { code: "x", message: "auth::check not found" } }));
    expect(await list(url)).toEqual({
      status: EXIT.failed,
      notes: expect.stringContaining(
        `The engine at ${url} rejected the connection (HTTP ${code}): auth::check not found.`,
      ),
    });
  });

  it("by something that is not an engine reports it", async () => {
    const { status, notes } = await list(await refusing(404, "<html>"));
    expect(status).toBe(EXIT.noEngine);
    expect(notes).toContain("something listens there, but it did not respond like an engine");
    expect(notes).toContain("HTTP 404");
  });
});

it("a command goes to the first of several engines that listens", async () => {
  const project = testProject();
  try {
    const engine = await startTestEngine(project);
    try {
      const shell = recordedShell();
      const { status, notes } = await list(`ws://127.0.0.1:1,${engine.url}`, shell);
      expect([status, notes]).toEqual([EXIT.done, ""]);
      expect(shell.written.out).toContain("svc-observability");
    } finally {
      await engine.stop();
    }
  } finally {
    project.remove();
  }
});
