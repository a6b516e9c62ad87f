import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { node11, node22, publishedClients } from "./support/published-client.ts";
import { comesBack } from "./support/wire-tap.ts";
import { offer, quiet, workshop } from "./support/workshop.ts";

// An engine that requires a token: the published clients send it in the only form that all their sockets keep, the
// address.

const TOKEN = "compatibility-token-0123456789";
const { client: start, connected, tap } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine(`engine:\n  mode: production\n  token: ${TOKEN}\nworkers: []\n`);
});
afterAll(() => engine.stop());

const withToken = (address: string, token: string): string => address.replace("ws://", `ws://svc:${token}@`);

describe.each(publishedClients)("a token in the address of $name", (client) => {
  it("admits it and its channels", async () => {
    const address = withToken(engine.address, TOKEN);
    const worker = await connected(client, address);
    await offer(worker, `token::${client.program}`, { kind: "readChannel" });
    const { answer } = await worker.run<{ answer: unknown }>("channelTo", {
      function_id: `token::${client.program}`,
      write: { bytes: 100_000 },
    });
    expect(answer).toMatchObject({ isReader: true, bytes: 100_000 });
  });
});

describe.each([node11, node22])("telemetry of $name", (client) => {
  it("sends the token", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(
      client,
      withToken(wire.address, TOKEN),
      { otel: {} },
      { env: { OTEL_ENABLED: "true" } },
    );
    await wire.connection("/otel");
    await worker.run("shutdown");
  });
});

describe.each([node11, node22])("a wrong token of $name", (client) => {
  it("statement 26: is rejected at the upgrade by the svc engine, so that the attempts become less frequent", async () => {
    const wire = await tap(engine.address);
    const worker = await start(client);
    await worker.run("connect", {
      address: withToken(wire.address, "wrong-wrong-wrong-wrong"),
      options: { ...quiet, reconnectionConfig: { initialDelayMs: 100, jitterFactor: 0 } },
    });
    await comesBack(wire, 5);
    const times = wire.upgrades.map(({ atMs }) => atMs);
    expect((times[4] as number) - (times[0] as number)).toBeGreaterThanOrEqual(100 * (1 + 2 + 4 + 8) * 0.95);
    expect(wire.frames).toEqual([]);
  });
});
