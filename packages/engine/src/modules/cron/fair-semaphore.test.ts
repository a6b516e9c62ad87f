import { expect, it } from "vitest";
import { restrictedPrincipal } from "../../access/principal.ts";
import { type Principal, TRUSTED } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import { accessTo, inMemoryEngine, manualClock } from "../../testing/index.ts";
import { FairSemaphore } from "./fair-semaphore.ts";
import { cron } from "./index.ts";
import { bind, pass, ticking } from "./testing/cron-engine.ts";

const [acme, beta] = [restrictedPrincipal("acme"), restrictedPrincipal("beta")];

/** Requests slots and records who gets one. */
function scene(count: number) {
  const slots = new FairSemaphore(count);
  const got: string[] = [];
  const releases = new Map<string, Undo>();
  const ask = async (principal: Principal, name: string): Promise<void> => {
    void slots.take(principal).then((release) => {
      got.push(release === undefined ? `${name}: none` : name);
      if (release !== undefined) releases.set(name, release);
    });
    await Promise.resolve();
    await Promise.resolve();
  };
  const release = async (name: string): Promise<void> => {
    releases.get(name)?.();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { slots, got, ask, release };
}

it("leaves half of the slots to trusted connections, and an eighth is the most for one restricted principal", async () => {
  const { got, ask } = scene(16);
  for (let n = 0; n < 20; n++) await ask(acme, `a${n}`);
  expect(got).toEqual(["a0", "a1"]);
  for (const tenant of ["b", "c", "d", "e"])
    for (let n = 0; n < 3; n++) await ask(restrictedPrincipal(tenant), `${tenant}${n}`);
  expect(got).toEqual(["a0", "a1", "b0", "b1", "c0", "c1", "d0", "d1"]);
  for (let n = 0; n < 8; n++) await ask(TRUSTED, `t${n}`);
  expect(got).toHaveLength(16);
});

it("serves principals in turn, and the runs of each in order", async () => {
  const { got, ask, release } = scene(2);
  for (const name of ["t0", "t1", "t2"]) await ask(TRUSTED, name);
  for (const name of ["a0", "a1"]) await ask(acme, name);
  await ask(beta, "b0");
  expect(got).toEqual(["t0", "t1"]);
  await release("t0");
  await release("t1");
  expect(got).toEqual(["t0", "t1", "t2", "a0"]);
  await release("t2");
  // Restricted principals may use one of two slots, and a0 has it.
  expect(got).toEqual(["t0", "t1", "t2", "a0"]);
  await release("a0");
  await release("b0");
  expect(got.slice(4)).toEqual(["b0", "a1"]);
});

it("ends waiting without a slot when it is closed", async () => {
  const { slots, got, ask, release } = scene(1);
  for (const name of ["t0", "t1"]) await ask(TRUSTED, name);
  slots.close();
  await ask(TRUSTED, "t2");
  await release("t0");
  expect(got.sort()).toEqual(["t0", "t1: none", "t2: none"]);
});

it("keeps the owner's cron on time while functions of a restricted connection hang", async () => {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const engine = await inMemoryEngine({ modules: [cron], config: { "svc-cron": { max_running: 8 } }, clock });
  const tenant = await engine.connectWorker({ access: accessTo([]) });
  try {
    let hanging = 0;
    for (let n = 0; n < 20; n++) {
      tenant.serve(`hang${n}`, () => {
        hanging++;
        return new Promise(() => {});
      });
      await bind(engine, tenant, { expression: "* * * * * *" }, { functionId: `hang${n}` });
    }
    const owner = await ticking(engine);
    await bind(engine, owner.worker, { expression: "* * * * * *" }, { id: "owner" });
    await pass(engine, clock, "owner", 10_000);
    expect(owner.ticks).toHaveLength(10);
    expect(hanging).toBe(1);
  } finally {
    // A stop waits for running jobs.
    tenant.close();
    await engine.stop();
  }
});
