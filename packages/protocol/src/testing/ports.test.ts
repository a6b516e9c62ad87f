import { createServer } from "node:net";
import { afterEach, expect, it, vi } from "vitest";

type PortsModule = typeof import("./ports.ts");

/** Loads the module again with its own state, as in another process. */
async function loadAgain(): Promise<PortsModule> {
  vi.resetModules();
  return await import("./ports.ts");
}

afterEach(() => {
  vi.resetModules();
});

it("returns different ports to concurrent processes", async () => {
  const modules = [await loadAgain(), await loadAgain(), await loadAgain()];

  const given = await Promise.all(modules.flatMap(({ freePort }) => Array.from({ length: 50 }, freePort)));

  expect(new Set(given).size).toBe(150);
});

it("skips a port that a program is bound to", async () => {
  const { freePort } = await loadAgain();
  const before = await freePort();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(before + 1, "127.0.0.1", resolve));
  try {
    expect(await freePort()).toBe(before + 2);
  } finally {
    server.close();
  }
});
