// The published client of a third party, unchanged from the registry. The engine supports its protocol.
import { type Client, type ClientArguments, ECHO_FUNCTION } from "./client.ts";
import { loadInstalled } from "./installed-package.ts";

interface PublishedClient {
  registerFunction(id: string, handler: (input: unknown) => Promise<unknown>): void;
  trigger(request: { function_id: string; payload: unknown }): Promise<unknown>;
}

interface PublishedPackage {
  registerWorker(
    address: string,
    options: { workerName: string; enableMetricsReporting: boolean; otel: { enabled: boolean } },
  ): PublishedClient;
}

export async function connectPublished({ role, address, packages }: ClientArguments): Promise<Client> {
  const { registerWorker } = await loadInstalled<PublishedPackage>(packages, "iii-sdk");
  const client = registerWorker(address, {
    workerName: `bench-${role}`,
    enableMetricsReporting: false,
    otel: { enabled: false },
  });
  if (role === "callee") client.registerFunction(ECHO_FUNCTION, async (input) => input);
  return { call: (payload) => client.trigger({ function_id: ECHO_FUNCTION, payload }) };
}
