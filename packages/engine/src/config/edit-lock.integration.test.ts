import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { withEditLock } from "./edit-lock.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-lock-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it("lets one edit in at a time, however many press", { timeout: 30_000 }, async () => {
  let inside = 0;
  let most = 0;
  const edit = (): Promise<void> =>
    withEditLock(
      join(dir, "config.yaml"),
      async () => {
        most = Math.max(most, ++inside);
        await turn();
        inside--;
      },
      { waitMs: 20_000 },
    );
  const pressing = Array.from({ length: 100 }, async () => {
    for (let count = 0; count < 4; count++) await edit();
  });
  await Promise.all(pressing);
  expect(most).toBe(1);
});
