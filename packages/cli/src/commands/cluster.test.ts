import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EXIT } from "../exit-codes.ts";
import { run } from "../main.ts";
import { recordedShell } from "../shell.test-support.ts";

async function svc(...args: readonly string[]) {
  const shell = recordedShell({ cwd: "/", env: {} });
  return { status: await run(["cluster", ...args], shell), ...shell.written };
}

const SERVERS = "127.0.0.1:4222,127.0.0.1:4223,127.0.0.1:4224";
const config = (...args: readonly string[]) => svc("nats-config", "--cluster", "shop", "--servers", ...args);

describe("svc cluster", () => {
  it("prints the file of each server", async () => {
    const { status, out } = await config(SERVERS, "--at", "2");
    expect(status).toBe(0);
    expect(out).toContain('server_name: "n2"\nlisten: "127.0.0.1:4223"');
    expect(out).toContain("sync_interval: always");
    expect(out).toContain('ping_interval: "5s"\nping_max: 2');
    expect(out).toContain('routes: ["nats://127.0.0.1:6222", "nats://127.0.0.1:6223", "nats://127.0.0.1:6224"]');
  });

  it("creates keys, which it takes for servers that other machines reach", async () => {
    const { out } = await svc("nkey");
    const [, seed = "", key = ""] = /^seed {8}(SU[A-Z2-7]{56})\npublic key {2}(U[A-Z2-7]{55})\n$/.exec(out) ?? [];
    expect(JSON.parse((await svc("nkey", "--json")).out)).toEqual({
      seed: expect.stringMatching(/^SU/),
      public_key: expect.stringMatching(/^U/),
    });
    const printed = await config("10.0.0.1,10.0.0.2,10.0.0.3", "--nkey", key, "--tls", "/etc/nats");
    expect(printed.out).toContain(`{ nkey: ${key}, permissions: $ENGINE }`);
    expect(printed.out).toContain('cert_file: "/etc/nats/server.pem"');
    expect(printed.out).not.toContain("no_auth_user");
    const mistaken = await config("10.0.0.1", "--nkey", seed, "--tls", "/etc/nats");
    expect(mistaken.status).toBe(EXIT.usage);
    expect(mistaken.notes).not.toContain(seed);
  });

  it("refuses data that cannot be taken over, and says why", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-cluster-"));
    const file = join(folder, "config.yaml");
    try {
      const none = await svc("init", "--from", join(folder, "none"));
      expect([none.status, none.notes]).toEqual([EXIT.failed, expect.stringContaining("There is no folder")]);
      for (const [kind, problem] of [
        ["init", "has no data of an engine: none of state.db, stream.db, queue.db, cron.db is there"],
        ["recover", "has no data of an engine of a cluster"],
      ]) {
        const { status, notes } = await svc(kind ?? "", "--from", folder, "--dry-run");
        expect([status, notes]).toEqual([EXIT.failed, expect.stringContaining(problem ?? "")]);
      }
      writeFileSync(join(folder, "state.db"), "");
      const listed = await svc("init", "--from", folder, "--dry-run");
      expect(listed.out).toMatch(/STORE +POSITION +FILE\nstate +- /);
      expect(JSON.parse((await svc("init", "--from", folder, "--dry-run", "--json")).out)).toEqual({
        stores: [{ store: "state", file: join(folder, "state.db"), position: null }],
      });
      writeFileSync(file, "workers: []\n");
      const alone = await svc("init", "--from", folder, "--config", file);
      expect([alone.status, alone.notes]).toEqual([
        EXIT.failed,
        expect.stringContaining("has no block engine.cluster"),
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it.each([
    [["10.0.0.1,10.0.0.2"], "needs --nkey and --tls"],
    [["127.0.0.1:4222", "--at", "2"], "--at is 2, but --servers names 1"],
    [["nats://127.0.0.1"], "is not the address of a server"],
    [["127.0.0.1:65000"], "with a port up to 63535"],
    [["127.0.0.1", "--cluster", "my shop"], "1 to 32 letters"],
  ])("refuses --servers %s", async (args, message) => {
    const { status, notes } = await config(...args);
    expect(status).toBe(EXIT.usage);
    expect(notes).toContain(message);
  });
});
