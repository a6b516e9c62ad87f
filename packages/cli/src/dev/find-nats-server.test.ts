import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { CommandFailure } from "../exit-codes.ts";
import { findNatsServer } from "./find-nats-server.ts";

const root = mkdtempSync(join(tmpdir(), "svc-nats-path-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Returns a folder with a program `nats-server` that prints the text. */
function folderWith(text: string): string {
  const folder = join(root, text.replaceAll(/\W/g, "-"));
  mkdirSync(folder);
  writeFileSync(join(folder, "nats-server"), `#!/bin/sh\necho '${text}'\n`, { mode: 0o755 });
  return folder;
}

it("finds the first server that is new enough, and else says how to get one", async () => {
  const old = folderWith("nats-server: v2.9.10");
  const foreign = folderWith("hello");
  const recent = folderWith("nats-server: v2.10.23");
  const find = (...folders: readonly string[]): Promise<string> => findNatsServer({ PATH: folders.join(delimiter) });

  expect(await find("", old, foreign, recent)).toBe(join(recent, "nats-server"));
  const failure = await find(old, foreign).catch((error: CommandFailure) => error);
  expect(failure).toMatchObject({
    message: `svc dev --cluster needs nats-server 2.10.23 or later: ${join(old, "nats-server")} is version 2.9.10, ${join(foreign, "nats-server")} does not run here.`,
    advice: expect.arrayContaining([expect.stringContaining("https://github.com/nats-io/nats-server/releases")]),
  });
  await expect(findNatsServer({})).rejects.toThrow("PATH contains no nats-server");
});
