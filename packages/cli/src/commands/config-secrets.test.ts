import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configKeys, configWith, configWithSecrets, freeFormPlaces } from "@svc-runtime/engine/testing";
import { SECRET_NAMED, selfEvidentForms, settingForms } from "@svc-runtime/protocol/testing/planted-secrets";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { run } from "../main.ts";
import { testProject } from "../running-engine.test-support.ts";
import { recordedShell } from "../shell.test-support.ts";

const project = testProject();
afterAll(() => project.remove());
mkdirSync(join(project.dir, "mine"));
writeFileSync(
  join(project.dir, "mine/svc.worker.yaml"),
  "name: mine\nruntime: { kind: other }\nscripts: { start: 'true' }\n",
);

const secrets = fc.stringMatching(/^[1-9][0-9]{13}$/);

/** Returns all output about a config file: its problems or its values. */
async function shownOf(config: unknown): Promise<string> {
  // JSON is YAML.
  writeFileSync(project.configFile, JSON.stringify(config));
  const outputs = [["check"], ["check", "--json"], ["explain", "--json"]].map(async (args) => {
    const shell = recordedShell({ cwd: project.dir, env: {} });
    await run(["config", ...args], shell);
    return shell.written.out + shell.written.notes;
  });
  return (await Promise.all(outputs)).join("\n");
}

/** Returns the output before each occurrence of the secret. */
async function leaksOf(secret: string, config: unknown): Promise<readonly string[]> {
  const shown = await shownOf(config);
  return shown
    .split(secret)
    .slice(0, -1)
    .map((before) => before.slice(-120) + secret);
}

describe("svc config check and explain show no secret", () => {
  it("at any key of the schema of the engine, a module or a worker", async () => {
    const forms = selfEvidentForms("").length;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...configKeys), fc.nat(forms - 1), secrets, async (key, form, secret) => {
        expect(await leaksOf(secret, configWith(key, selfEvidentForms(secret)[form]))).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it.each(configKeys.filter(({ key }) => /token|headers/.test(key)))(
    "at $key, whatever the type of the value",
    { timeout: 120_000 },
    async (key) => {
      const secret = "30303030303030";
      for (const value of [secret, Number(secret), [secret], { a: secret }, { "x-team": Number(secret) }])
        expect(await leaksOf(secret, configWith(key, value))).toEqual([]);
    },
  );

  it.each(Object.entries(freeFormPlaces))(
    "whose name is that of a secret in %s",
    { timeout: 120_000 },
    async (_name, place) => {
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...SECRET_NAMED), fc.boolean(), secrets, async (name, isNumber, secret) => {
          expect(await leaksOf(secret, place({ [name]: isNumber ? Number(secret) : secret }))).toEqual([]);
        }),
        { numRuns: 8 },
      );
    },
  );

  it.each(settingForms("50505050505050"))("in a setting: %j", async (form) => {
    expect(await leaksOf("50505050505050", freeFormPlaces["the context of a role"]?.(form))).toEqual([]);
  });

  it("of a valid config, but show its other values", async () => {
    expect(await leaksOf("60606060606060", configWithSecrets("60606060606060"))).toEqual([]);
    const shown = await shownOf(configWithSecrets("60606060606060"));
    expect(shown).toContain("config.yaml is ok");
    expect(shown).toContain("redis://***@db");
  });

  it("in the headers of an exporter that are one string", async () => {
    const config = {
      workers: [{ name: "svc-observability", config: { headers: "authorization=Bearer 70707070707070" } }],
    };
    expect(await shownOf(config)).toContain("workers[0].config.headers: must be a block of keys");
    expect(await leaksOf("70707070707070", config)).toEqual([]);
  });
});
