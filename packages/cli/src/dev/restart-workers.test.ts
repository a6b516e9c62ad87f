import { CallError } from "@svc-runtime/protocol";
import { expect, it } from "vitest";
import { type NamedEngine, restartWorkers } from "./restart-workers.ts";

it("restarts the workers of the connected engines and names the others", async () => {
  const asked: string[] = [];
  const engine = (name: string, isConnected: boolean): NamedEngine => ({
    name,
    engine: {
      connected: async () => {
        if (!isConnected) throw new CallError("disconnected", "not connected");
      },
      call: async (request) => {
        if (!isConnected) throw new CallError("call_timeout", "no answer");
        asked.push(`${name} ${request.function_id}`);
        return (request.function_id === "worker::list" ? { workers: [{ name: "hello", kind: "local" }] } : {}) as never;
      },
    },
  });
  const notes: string[] = [];

  await restartWorkers([engine("engine a", false), engine("engine b", true)], (text) => notes.push(text));

  expect(asked).toEqual(["engine b worker::list", "engine b worker::restart"]);
  expect(notes).toEqual(["Not connected, so its workers are not restarted: engine a", "Restarting hello"]);
});
