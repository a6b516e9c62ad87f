/** Parts of clusters for the command line. */
export { newNkey } from "./nats/nkey.ts";
export { serverConfigs } from "./nats/server-config.ts";
