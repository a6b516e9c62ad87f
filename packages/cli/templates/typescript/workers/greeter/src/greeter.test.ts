import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestEngine, type TestEngine } from "@svc-runtime/engine/test-kit";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { provideGreeter } from "./greeter.js";

let engine: TestEngine;
let worker: Worker;

before(async () => {
  engine = await startTestEngine({ modules: ["svc-http", "svc-state"] });
  worker = connect(engine.url, { handleSignals: false, logger: silentLogger });
  provideGreeter(worker);
  await worker.connected();
});

after(async () => {
  await worker?.shutdown();
  await engine?.stop();
});

test("greets, and counts how often", async () => {
  const greet = () => worker.call({ function_id: "greeter::greet", payload: { name: "Ada" } });

  assert.deepEqual(await greet(), { text: "Hello Ada", times: 1 });
  assert.deepEqual(await greet(), { text: "Hello Ada", times: 2 });
});

test("answers over HTTP", async () => {
  const response = await fetch(`${engine.httpUrl}/greetings/Bob`);

  assert.deepEqual(await response.json(), { text: "Hello Bob", times: 1 });
});

test("refuses a greeting of nobody", async () => {
  await assert.rejects(worker.call({ function_id: "greeter::greet", payload: { name: "" } }), { code: "invalid_input" });
});
