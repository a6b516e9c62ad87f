import { SECRET_NAMED, selfEvidentForms, settingForms } from "@svc-runtime/protocol/testing/planted-secrets";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EngineInfo, engineFunctions } from "../modules/engine-functions/index.ts";
import { loadModules } from "../modules/index.ts";
import { inMemoryEngine } from "../testing/index.ts";
import { configKeys, configWith, configWithSecrets, freeFormPlaces } from "../testing/planted-configs.ts";
import { effectiveConfig } from "./effective.ts";
import { parseConfig } from "./load.ts";
import { ConfigError, type LoadedConfig } from "./types.ts";

const modules = await loadModules();
const secrets = fc.stringMatching(/^[1-9][0-9]{13}$/);

let current: LoadedConfig | undefined;
let engine: Awaited<ReturnType<typeof inMemoryEngine>>;

beforeAll(async () => {
  const effective = (): ReturnType<typeof effectiveConfig> => {
    if (current === undefined) throw new Error("no config was loaded");
    return effectiveConfig(current, modules);
  };
  engine = await inMemoryEngine({ modules: [engineFunctions(() => ({}) as EngineInfo, { config: effective })] });
});
afterAll(async () => {
  await engine.stop();
});

/** Returns the engine's log for an invalid config, or else the result of `engine::config::effective`. */
async function shownOf(config: unknown): Promise<string> {
  try {
    current = parseConfig("/p/config.yaml", JSON.stringify(config), { env: {}, modules });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [error.message, JSON.stringify(error.problems)].join("\n");
  }
  return JSON.stringify([await engine.call("engine::config::effective"), current.warnings]);
}

async function leaksOf(secret: string, config: unknown): Promise<readonly string[]> {
  const shown = await shownOf(config);
  return shown
    .split(secret)
    .slice(0, -1)
    .map((before) => before.slice(-120) + secret);
}

it("neither the log of a reload nor the effective config shows a secret that is planted at any key", {
  timeout: 120_000,
}, async () => {
  const leaks: unknown[] = [];
  const forms = selfEvidentForms("40404040404040");
  for (const [at, key] of configKeys.entries()) {
    // Tests each form with a sixth of the keys, because the detection of a form does not depend on the key.
    for (const form of forms.filter((_, number) => number % 6 === at % 6)) {
      const found = await leaksOf("40404040404040", configWith(key, form));
      if (found.length > 0) leaks.push([key.key, form, ...found]);
    }
  }
  expect(leaks).toEqual([]);
});

it.each(Object.entries(freeFormPlaces))(
  "nor what has a secret's name in %s",
  { timeout: 120_000 },
  async (_name, place) => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...SECRET_NAMED), fc.boolean(), secrets, async (name, isNumber, secret) => {
        expect(await leaksOf(secret, place({ [name]: isNumber ? Number(secret) : secret }))).toEqual([]);
      }),
      { numRuns: 40 },
    );
  },
);

it.each(settingForms("50505050505050"))("nor what is a setting's: %j", async (form) => {
  expect(await leaksOf("50505050505050", freeFormPlaces["the context of a role"]?.(form))).toEqual([]);
  // After flattening into variables, the kind of an action is no longer beside its address.
  if (!("action" in form))
    expect(await leaksOf("50505050505050", freeFormPlaces["a worker's config"]?.(form))).toEqual([]);
  expect(await leaksOf("50505050505050", freeFormPlaces["an unknown block"]?.(form))).toEqual([]);
});

it("shows the other values of a valid config", async () => {
  expect(await leaksOf("60606060606060", configWithSecrets("60606060606060"))).toEqual([]);
  expect(await shownOf(configWithSecrets("60606060606060"))).toContain("redis://***@db");
});
