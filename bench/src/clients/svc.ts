import { connect, silentLogger } from "@svc-runtime/sdk";
import { type Client, type ClientArguments, ECHO_FUNCTION } from "./client.ts";

export async function connectSvc({ role, address }: ClientArguments): Promise<Client> {
  const worker = connect(address, { name: `bench-${role}`, handleSignals: false, logger: silentLogger });
  if (role === "callee") worker.registerFunction(ECHO_FUNCTION, (input) => input);
  await worker.connected({ timeoutMs: 10_000 });
  return { call: (payload) => worker.call({ function_id: ECHO_FUNCTION, payload }) };
}
