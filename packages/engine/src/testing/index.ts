export { restrictedPrincipal } from "../access/principal.ts";
export {
  type Machine,
  type NatsServer,
  type NatsServers,
  natsProgram,
  startNatsServers,
} from "../cluster/nats/testing/nats-servers.ts";
export { PLANTED_FAULTS } from "../cluster/testing/simulation/planted-faults.ts";
export {
  type PrintedResult,
  runSeeds,
  runSeedsWithFault,
  violationsOf,
} from "../cluster/testing/simulation/run-seeds.ts";
export { startRedis } from "../items/testing/redis-server.ts";
export { InMemoryCluster } from "../kernel/nodes/testing/in-memory-cluster.ts";
export { endpoint, json } from "../outbound-http/testing/endpoint.ts";
export { openDatabase } from "../store/driver.ts";
export { openStore } from "../store/open-store.ts";
export { tableHashOf } from "../store/replicated/testing/table-hash.ts";
export { bindTrigger } from "./bind-trigger.ts";
export { Collected } from "./collected.ts";
export {
  type InMemoryEngine,
  type InMemoryEngineOptions,
  type InMemoryWorker,
  inMemoryEngine,
} from "./in-memory-engine.ts";
export { type ManualClock, manualClock } from "./manual-clock.ts";
export { configKeys, configWith, configWithSecrets, freeFormPlaces } from "./planted-configs.ts";
export { type RecordedSpan, recordedSpans } from "./recorded-spans.ts";
export { accessOfRole, accessTo, rulesWith } from "./restricted.ts";
export type { StreamSocket, StreamSocketOptions } from "./stream-socket.ts";
