import { logStreamName, seedStreamName } from "./stream-names.ts";

/** Options for the configuration file of one NATS server. */
export interface ServerConfigOptions {
  /** Name of the svc cluster. */
  readonly cluster: string;
  /** Name of this server. Each server has another one. */
  readonly name: string;
  /** Address on which the server listens for engines, e.g. `10.0.0.1:4222`. */
  readonly listen: string;
  /** Folder in which the server stores the streams. */
  readonly storeDir: string;
  /** Routes to all servers of the cluster, e.g. `nats://10.0.0.1:6222`. With fewer than two, the server runs alone. */
  readonly routes: readonly string[];
  /** Address on which the server listens for other servers, e.g. `10.0.0.1:6222`. */
  readonly clusterListen: string;
  /** Public NKeys of the engines (`U...`). Default: no credentials, for loopback only. */
  readonly nkeys?: readonly string[];
  /** Files for TLS. Default: none, for loopback only. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
  /** Names of the stores that have logs. Default: those of the modules. */
  readonly stores?: readonly string[];
}

/** Names of the modules' stores that have logs. */
const STORES = ["state", "stream", "queue", "cron"];

/** Difference between the port for other servers and the port for engines. */
const ROUTE_PORT_OFFSET = 2_000;

/** Returns the configuration files of all servers of a cluster. They differ in names and addresses. */
export function serverConfigs(
  options: Pick<ServerConfigOptions, "cluster" | "nkeys" | "tls"> & {
    /** Addresses on which the servers listen for engines. */
    readonly servers: readonly { readonly host: string; readonly port: number }[];
    /** Folder in which each server has a folder with its own name. */
    readonly folder: string;
  },
): readonly string[] {
  const { servers, folder, ...rest } = options;
  const routeTo = ({ host, port }: (typeof servers)[number]): string => `${host}:${port + ROUTE_PORT_OFFSET}`;
  return servers.map((server, at) =>
    serverConfig({
      ...rest,
      name: `n${at + 1}`,
      listen: `${server.host}:${server.port}`,
      storeDir: `${folder}/n${at + 1}`,
      routes: servers.map((each) => `nats://${routeTo(each)}`),
      clusterListen: routeTo(server),
    }),
  );
}

/** Returns the configuration file of a NATS server, with comments for the operator. */
export function serverConfig(options: ServerConfigOptions): string {
  const { cluster, name, listen, storeDir, routes, clusterListen, nkeys = [], tls, stores = STORES } = options;
  const users =
    nkeys.length === 0
      ? `      # Without credentials: for loopback only. Else give each engine an NKey of its own (\`svc cluster nkey\`).
      { user: svc, password: svc, permissions: $ENGINE }`
      : nkeys.map((nkey) => `      { nkey: ${nkey}, permissions: $ENGINE }`).join("\n");
  return `# NATS server ${name} of the svc cluster ${cluster}. Start it with: nats-server -c FILE
# Version 2.10.23 or later. Each server has a name, addresses and a store_dir of its own; the rest is the same for all.
server_name: ${quoted(name)}
listen: ${quoted(listen)}
# An entry of the log has up to 512 KiB, and a server sends it as base64.
max_payload: 1MB
# Connections on which nothing arrives for 15 s are closed and opened again. Without these lines, TCP repeats lost packets
# ever more rarely: after a cut of 20 s, the next attempt may come only 20 s after its end.
ping_interval: "5s"
ping_max: 2
${tlsBlock(tls, "", false)}
jetstream {
  store_dir: ${quoted(storeDir)}
  # Each write is on disk before it is acknowledged. Without this line, a power cut of all servers loses acknowledged
  # writes, and svc shows \`durability: relaxed\`.
  sync_interval: always
}
${
  routes.length < 2
    ? "\n# One server alone: when it dies, nothing can be written.\n"
    : `
cluster {
  name: ${quoted(`svc-${cluster}`)}
  listen: ${quoted(clusterListen)}
  routes: [${routes.map(quoted).join(", ")}]
${tlsBlock(tls, "  ", true)}}
`
}
# What an engine may do: everything below svc.${cluster}, and the streams of this cluster: logs and their snapshots.
ENGINE: {
  publish: { allow: [
    "svc.${cluster}.>", "$JS.API.INFO",
${stores.flatMap((store) => [logStreamName(cluster, store), seedStreamName(cluster, store)].map(streamSubjects)).join(",\n")}
  ] }
  subscribe: { allow: ["svc.${cluster}.>"] }
  allow_responses: true
}

accounts {
  SVC: {
    jetstream: enabled
    users: [
${users}
    ]
    # Lets the engines see whether all servers have sync_interval: always.
    imports: [{ service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.JSZ" }, to: "svc.${cluster}.servers" }]
  }
  SYS: {
    users: []
    exports: [{ service: "$SYS.REQ.SERVER.PING.JSZ", accounts: [SVC], response: stream }]
  }
}
system_account: SYS
${nkeys.length === 0 ? "no_auth_user: svc\n" : ""}`;
}

/** Returns the requests that an engine may send about one stream. Deleting the stream is not among them. */
function streamSubjects(stream: string): string {
  const requests = ["INFO", "CREATE", "UPDATE", "PURGE", "MSG.GET"];
  return `    ${requests.map((request) => quoted(`$JS.API.STREAM.${request}.${stream}`)).join(", ")}`;
}

/**
 * Returns the `tls` block. `verifies` is for connections between servers, which verify each other's certificates.
 * Engines prove their identity with NKeys instead.
 */
function tlsBlock(tls: ServerConfigOptions["tls"], indent: string, verifies: boolean): string {
  if (tls === undefined) return "";
  const files = `cert_file: ${quoted(tls.cert)}, key_file: ${quoted(tls.key)}, ca_file: ${quoted(tls.ca)}`;
  return `${indent}tls { ${files}${verifies ? ", verify: true" : ""} }\n`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
