import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { type ClientEvent, node11, node22, publishedClients, python11 } from "./support/published-client.ts";
import { settled, workshop } from "./support/workshop.ts";

// Protocol section 18, statements 29 to 33: trigger types that workers provide.

const { connected, raw, tap } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
});
afterAll(() => engine.stop());

const bindingOf =
  (type: string, event = "bound") =>
  (seen: ClientEvent): boolean =>
    seen.event === event && seen.type === type;
const pairs = publishedClients.flatMap((provider) => publishedClients.map((requester) => ({ provider, requester })));

describe.each(pairs)("a trigger type of $provider.name for $requester.name", ({ provider, requester }) => {
  const type = `type-${provider.program}-${requester.program}`;
  const functionId = `on::${provider.program}-${requester.program}`;

  it("statements 29, 31 and 33: receives each binding, fires by calling, and is notified when the binding or its owner is removed", async () => {
    const [providerTap, requesterTap] = await Promise.all([tap(engine.address), tap(engine.address)]);
    const [offers, asks] = await Promise.all([
      connected(provider, providerTap.address),
      connected(requester, requesterTap.address),
    ]);
    await offers.run("registerTriggerType", { id: type, description: "of the test" });
    await settled(offers);
    await asks.run("registerFunction", { id: functionId, behaviour: { kind: "echo" } });
    const handle = await asks.run("registerTrigger", {
      type,
      function_id: functionId,
      config: { every: { ms: [5] } },
      metadata: { m: 1 },
    });

    // 29
    const bound = await offers.next(bindingOf(type), "the binding");
    expect(bound.config).toEqual({
      id: expect.any(String),
      function_id: functionId,
      config: { every: { ms: [5] } },
      metadata: { m: 1 },
    });
    const id = bound.config?.id;
    const told = await providerTap.frame(
      ({ from, json }) => from === "engine" && json?.type === "registertrigger",
      "the frame of the binding",
    );
    expect(told.json).toEqual({
      type: "registertrigger",
      id,
      trigger_type: type,
      function_id: functionId,
      config: { every: { ms: [5] } },
      metadata: { m: 1 },
    });
    const answered = await providerTap.frame(
      ({ json }) => json?.type === "triggerregistrationresult",
      "the provider's answer",
    );
    expect(answered.json).toMatchObject({ id, trigger_type: type, function_id: functionId });
    expect(answered.json?.error).toBeUndefined();
    expect(await offers.run("trigger", { function_id: functionId, payload: { fired: true } })).toEqual({ fired: true });

    // 31
    await asks.run("unregisterTrigger", { handle });
    const isEnd = (json: Readonly<Record<string, unknown>> | undefined, of: unknown): boolean =>
      json?.type === "unregistertrigger" && json.id === of;
    const ended = await providerTap.frame(
      ({ from, json }) => from === "engine" && isEnd(json, id),
      "the end of the binding",
    );
    expect(ended.json).toEqual({ type: "unregistertrigger", id, trigger_type: type });
    if (provider.isLater) {
      const { config } = await offers.next(bindingOf(type, "unbound"), "the provider's unregister handler");
      expect(config).toMatchObject({ id, function_id: "" });
      expect(config?.config ?? null).toBeNull();
    }

    // 33
    await asks.run("registerTrigger", { type, function_id: functionId, config: { n: 2 } });
    await asks.run("registerTrigger", { type, function_id: functionId, config: { n: 3 } });
    const left = [await offers.next(bindingOf(type), "a binding"), await offers.next(bindingOf(type), "another")].map(
      ({ config }) => config?.id,
    );
    await asks.run("shutdown");
    for (const binding of left)
      await providerTap.frame(
        ({ from, json }) => from === "engine" && isEnd(json, binding),
        `the end of binding ${binding}`,
      );
    await settled(offers);
    // If the client ignores the frame, its handler was not called for any of the three.
    if (!provider.isLater) expect(offers.events().filter(bindingOf(type, "unbound"))).toEqual([]);
    expect(requesterTap.frames.filter(({ json }) => json?.type === "triggerregistrationresult")).toEqual([]);
  });
});

describe.each([
  { provider: node22, requester: node22 },
  { provider: node22, requester: node11 },
  { provider: node11, requester: node22 },
  { provider: python11, requester: node22 },
  { provider: node22, requester: python11 },
])("a handler of $provider.name that rejects a binding of $requester.name", ({ provider, requester }) => {
  it("statement 30: sends triggerregistrationresult to the requester, which 0.11.6 ignores", async () => {
    const type = `fussy-${provider.program}-${requester.program}`;
    const wire = await tap(engine.address);
    const [offers, asks] = await Promise.all([connected(provider, engine.address), connected(requester, wire.address)]);
    await offers.run("registerTriggerType", { id: type, description: "of the test", failure: "not this one" });
    await settled(offers);
    await asks.run("registerTrigger", { type, function_id: "on::fussy", config: {} });
    const { json } = await wire.frame(
      ({ from, json }) => from === "engine" && json?.type === "triggerregistrationresult",
      "the refusal",
    );
    expect(json).toEqual({
      type: "triggerregistrationresult",
      id: expect.any(String),
      trigger_type: type,
      function_id: "on::fussy",
      error: { code: "trigger_registration_failed", message: expect.stringContaining("not this one") },
    });
    await settled(asks);
    if (requester.isLater) await expect.poll(() => asks.output(), { timeout: 30_000 }).toContain("not this one");
    else expect(asks.output()).not.toContain("not this one");
  });
});

describe.each(publishedClients)("a binding that $name registered before its type exists", (client) => {
  it("statement 32: becomes active once the type registers, without any error frame, and again when the provider reconnects", async () => {
    const type = `parked-${client.program}`;
    const wire = await tap(engine.address);
    const asks = await connected(client, wire.address);
    await asks.run("registerTrigger", { type, function_id: "on::parked", config: { n: 1 } });
    await settled(asks);
    const first = await raw(engine.address);
    first.say({ type: "registertriggertype", id: type, description: "d" });
    const binding = await first.next((frame) => frame.type === "registertrigger", "the parked binding");
    expect(binding).toMatchObject({ trigger_type: type, function_id: "on::parked", config: { n: 1 } });
    first.close();
    // A worker that provides the type again receives the same binding, even before the engine has detected the end of
    // the first one.
    const offers = await connected(client, engine.address);
    await offers.run("registerTriggerType", { id: type, description: "d" });
    const again = await offers.next(bindingOf(type), "the binding");
    expect(again.config).toMatchObject({ id: binding.id, function_id: "on::parked", config: { n: 1 } });
    // Bindings of an unregistered type wait again. 0.11.6 providers unregister nothing on the wire but the type.
    await offers.run("unregisterTriggerType", { id: type });
    await settled(offers);
    await offers.run("registerTriggerType", { id: type, description: "d" });
    expect((await offers.next(bindingOf(type), "the binding, again")).config?.id).toBe(binding.id);
    await settled(asks);
    const told = wire.frames.filter(({ from, json }) => from === "engine" && json?.type !== "invocationresult");
    expect(told.map(({ json }) => json?.type)).toEqual(["workerregistered"]);
  });
});
