// A client of Moleculer, another microservice framework for Node. Its version is fixed in `peers.ts`.
import type { Client, ClientArguments } from "./client.ts";
import { loadInstalled } from "./installed-package.ts";

interface Broker {
  createService(schema: { name: string; actions: Record<string, (context: { params: unknown }) => unknown> }): void;
  start(): Promise<void>;
  waitForServices(name: string, timeoutMs: number): Promise<void>;
  call(action: string, params: unknown): Promise<unknown>;
}

interface MoleculerPackage {
  readonly ServiceBroker: new (options: { nodeID: string; logger: false; transporter: unknown }) => Broker;
}

const DISCOVERY_TIMEOUT_MS = 15_000;

export async function connectMoleculer({ kind, role, address, packages, ports }: ClientArguments): Promise<Client> {
  const { ServiceBroker } = await loadInstalled<MoleculerPackage>(packages, "moleculer");
  const urls = [`tcp://127.0.0.1:${ports.caller}/caller`, `tcp://127.0.0.1:${ports.callee}/callee`];
  const transporter =
    kind === "moleculer-nats" ? address : { type: "TCP", options: { udpDiscovery: false, port: ports[role], urls } };
  const broker = new ServiceBroker({ nodeID: role, logger: false, transporter });
  if (role === "callee") broker.createService({ name: "bench", actions: { echo: (context) => context.params } });
  await broker.start();
  if (role === "caller") await broker.waitForServices("bench", DISCOVERY_TIMEOUT_MS);
  return { call: (payload) => broker.call("bench.echo", payload) };
}
