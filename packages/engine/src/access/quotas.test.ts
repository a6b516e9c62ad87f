import { afterEach, describe, expect, it } from "vitest";
import { engineFunctions } from "../modules/engine-functions/index.ts";
import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine } from "../testing/index.ts";
import { authResultSchema, grantsOfAuthResult } from "./grants.ts";
import { policyOf } from "./policy.ts";
import { SessionAccess } from "./session-access.ts";

let engine: InMemoryEngine;
afterEach(() => engine.stop());

const rules = policyOf({
  tokenRequired: false,
  middlewareFunctionId: undefined,
  rbac: {
    authFunctionId: "auth",
    exposeFunctions: [],
    onFunctionRegistrationFunctionId: undefined,
    onTriggerRegistrationFunctionId: undefined,
    onTriggerTypeRegistrationFunctionId: undefined,
    roles: [],
    tokens: [],
  },
});

/** A connection of the tenant: connections with the same prefix are one principal. */
function connectTenant(prefix: string): Promise<InMemoryWorker> {
  const result = { function_registration_prefix: prefix, allow_trigger_type_registration: true };
  return engine.connectWorker({
    access: new SessionAccess(grantsOfAuthResult(authResultSchema.parse(result), "auth"), rules),
  });
}

async function settled(worker: InMemoryWorker): Promise<void> {
  worker.say({ type: "ping" });
  await worker.next((frame) => frame.type === "pong");
}

const FORMS = {
  functions: (n: number) => ({ type: "registerfunction", id: `f${n}` }),
  "trigger types": (n: number) => ({ type: "registertriggertype", id: `t${n}`, description: "d" }),
  triggers: (n: number) => ({
    type: "registertrigger",
    id: `b${n}`,
    trigger_type: "tick",
    function_id: "f0",
    config: { n },
  }),
} as const;

/** Registers these and resolves with the refusals. */
async function refusals(worker: InMemoryWorker, frames: readonly Record<string, unknown>[]): Promise<string[]> {
  for (const frame of frames) worker.say(frame);
  await settled(worker);
  const received = worker.received.splice(0).map((text) => JSON.parse(text) as { error?: { message: string } });
  return received.flatMap(({ error }) => (error === undefined ? [] : [error.message]));
}

describe("a restricted principal", () => {
  it.each(["functions", "trigger types", "triggers"] as const)(
    "has one limit for the %s of all its connections, which takes nothing from others",
    async (what) => {
      engine = await inMemoryEngine({ limits: { maxFunctions: 3, maxTriggers: 3, maxTriggerTypes: 3 } });
      const form = FORMS[what];
      const [one, other, neighbour, owner] = [
        await connectTenant("acme"),
        await connectTenant("acme"),
        await connectTenant("beta"),
        await engine.connectWorker(),
      ];
      for (const worker of [one, other, neighbour, owner]) await refusals(worker, [FORMS.functions(0)]);
      const offset = what === "functions" ? 1 : 0;
      expect(await refusals(one, [form(1 + offset)])).toEqual([]);
      const further = await refusals(other, [form(11), form(12), form(13)]);
      expect(further.length).toBeGreaterThan(0);
      expect(further[0]).toContain(`all connections of prefix acme together have 3 ${what} of 3`);
      for (const worker of [neighbour, owner]) expect(await refusals(worker, [form(21), form(22)])).toEqual([]);
      // A connection's usage is released when it has ended.
      one.close();
      await one.closed;
      expect(await refusals(other, [form(31)])).toEqual([]);
    },
  );

  it("has one limit for the bytes of its registrations, whatever their size", async () => {
    engine = await inMemoryEngine();
    const [one, other, neighbour] = [
      await connectTenant("acme"),
      await connectTenant("acme"),
      await connectTenant("beta"),
    ];
    const frames = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) => ({
        type: "registerfunction",
        id: `f${from + n}`,
        description: "x".repeat(4_000),
      }));
    expect(await refusals(one, frames(0, 5_000))).toEqual([]);
    const further = await refusals(other, frames(5_000, 5_000));
    expect(further.length).toBeGreaterThan(1_000);
    expect(further[0]).toMatch(
      /all connections of prefix acme together have [0-9]+ bytes of registrations of 33554432/,
    );
    expect(await refusals(neighbour, frames(0, 10))).toEqual([]);
    one.close();
    await one.closed;
    expect(await refusals(other, frames(20_000, 1))).toEqual([]);
  });

  it("counts a large registration until it is unregistered, also if a smaller one with the same id is refused meanwhile", async () => {
    engine = await inMemoryEngine();
    const worker = await connectTenant("acme");
    const large = (n: number) => ({ type: "registerfunction", id: `f${n}`, description: "x".repeat(900_000) });
    const refusedOnes = Array.from({ length: 30 }, (_, n) => ({
      type: "registerfunction",
      id: `f${n}`,
      invocation: { url: "http://127.0.0.1/" },
    }));
    expect(
      await refusals(
        worker,
        Array.from({ length: 30 }, (_, n) => large(n)),
      ),
    ).toEqual([]);
    expect(await refusals(worker, refusedOnes)).toHaveLength(30);
    expect(
      (
        await refusals(
          worker,
          Array.from({ length: 30 }, (_, n) => large(30 + n)),
        )
      ).length,
    ).toBeGreaterThan(20);
    expect(
      await refusals(
        worker,
        Array.from({ length: 30 }, (_, n) => ({ type: "unregisterfunction", id: `f${n}` })),
      ),
    ).toEqual([]);
    expect(
      await refusals(
        worker,
        Array.from({ length: 20 }, (_, n) => large(60 + n)),
      ),
    ).toEqual([]);
  });

  it("has one limit for the channels of all its connections", async () => {
    engine = await inMemoryEngine({ modules: [engineFunctions(() => ({}) as never)] });
    const [one, other, neighbour, owner] = [
      await connectTenant("acme"),
      await connectTenant("acme"),
      await connectTenant("beta"),
      await engine.connectWorker(),
    ];
    const open = async (worker: InMemoryWorker, count: number) => {
      const answers = await Promise.all(
        Array.from({ length: count }, () => worker.call("engine::channels::create", {})),
      );
      return answers.flatMap(({ error }) => (error ? [(error as { code: string }).code] : []));
    };
    expect(await open(one, 510)).toEqual(new Array(10).fill("overloaded"));
    for (let n = 0; n < 2; n++) expect(await open(await connectTenant("acme"), 500)).toEqual([]);
    expect(await open(other, 500)).toEqual([]);
    expect(await open(await connectTenant("acme"), 5)).toEqual(new Array(5).fill("overloaded"));
    expect(await open(neighbour, 10)).toEqual([]);
    expect(await open(owner, 10)).toEqual([]);
  });
});

it("restricted principals together leave room for trusted connections", async () => {
  engine = await inMemoryEngine({ limits: { maxFunctions: 3 } });
  const refused: string[] = [];
  for (let tenant = 0; tenant < 6; tenant++)
    refused.push(...(await refusals(await connectTenant(`t${tenant}`), [1, 2, 3].map(FORMS.functions))));
  expect(refused).toEqual(
    new Array(3).fill(expect.stringContaining("all restricted connections together have 15 functions of 15")),
  );
  expect(await refusals(await engine.connectWorker(), [1, 2, 3].map(FORMS.functions))).toEqual([]);
});
