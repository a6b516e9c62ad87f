import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../testing/index.ts";
import { CertificateWatch, CHECK_EVERY_MS } from "./certificate-watch.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-certificates-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function watchOf(cert: string): {
  readonly watch: CertificateWatch;
  readonly clock: ReturnType<typeof manualClock>;
  renewals: number;
} {
  const clock = manualClock();
  const world = {
    clock,
    renewals: 0,
    watch: new CertificateWatch({
      clock,
      listeners: [{ tlsFiles: undefined }, { tlsFiles: { cert, key: join(dir, "key.pem") } }],
      onRenewed: () => world.renewals++,
    }),
  };
  return world;
}

describe("certificate files", () => {
  it("are noticed to be others when they are rewritten, renamed over, gone or back, and not when nothing happened", async () => {
    const cert = join(dir, "cert.pem");
    writeFileSync(cert, "one");
    const world = watchOf(cert);
    const after = async (change: () => void): Promise<number> => {
      const before = world.renewals;
      change();
      await world.watch.check();
      return world.renewals - before;
    };
    expect(await after(() => {})).toBe(0);
    expect(await after(() => {})).toBe(0);
    expect(await after(() => writeFileSync(join(dir, "key.pem"), "key"))).toBe(1);
    expect(await after(() => writeFileSync(cert, "twice"))).toBe(1);
    expect(
      await after(() => {
        writeFileSync(join(dir, "next"), "three");
        renameSync(join(dir, "next"), cert);
      }),
    ).toBe(1);
    expect(await after(() => unlinkSync(cert))).toBe(1);
    expect(await after(() => {})).toBe(0);
  });

  it("are looked at every minute behind their links, until that is stopped", async () => {
    writeFileSync(join(dir, "old"), "old");
    writeFileSync(join(dir, "new"), "renewed");
    const cert = join(dir, "cert.pem");
    symlinkSync(join(dir, "old"), cert);
    const world = watchOf(cert);
    await world.watch.check();
    const stop = world.watch.start();
    unlinkSync(cert);
    symlinkSync(join(dir, "new"), cert);
    await expect
      .poll(() => {
        world.clock.advance(CHECK_EVERY_MS);
        return world.renewals;
      })
      .toBe(1);
    stop();
    expect(world.clock.pendingTimers).toBe(0);
  });
});
