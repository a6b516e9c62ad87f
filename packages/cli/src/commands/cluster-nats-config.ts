import { isIP } from "node:net";
import { Command } from "commander";
import { usageFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { wholeNumber } from "./options.ts";

const DEFAULT_PORT = 4222;
/** Highest port for engines. The port for other servers is 2,000 higher, and must be a valid port too. */
const HIGHEST_PORT = 63_535;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;
const NKEY = /^U[A-Z2-7]{55}$/;

interface Options {
  readonly cluster: string;
  readonly servers: string;
  readonly at: number;
  readonly folder: string;
  readonly nkey?: readonly string[];
  readonly tls?: string;
}

/** `svc cluster nats-config`: prints the file of one NATS server. */
export function clusterNatsConfigCommand(shell: Shell): Command {
  return new Command("nats-config")
    .summary("print the file of a NATS server for a cluster")
    .description(
      "Print the file of one of the NATS servers of a cluster, with comments. Run it once for each server, with --at 1, --at 2 and so on; the other options are the same. Servers that other machines reach need --nkey and --tls.",
    )
    .requiredOption("--cluster <name>", "name of the cluster, as engine.cluster.name")
    .requiredOption(
      "--servers <list>",
      "addresses of all servers, separated by commas: HOST or HOST:PORT (default port: 4222); servers reach one another at the port 2000 higher",
    )
    .option("--at <n>", "which of the servers the file is for", wholeNumber(1, 16), 1)
    .option("--folder <path>", "folder of the data; each server has a folder with its name in it", "nats-data")
    .option("--nkey <key...>", "public NKey of each engine (svc cluster nkey)")
    .option("--tls <path>", "folder with server.pem, server.key and ca.pem on the servers' machines")
    .addHelpText(
      "after",
      "\nExamples:\n  svc cluster nats-config --cluster shop --servers 127.0.0.1:4222,127.0.0.1:4223,127.0.0.1:4224 --at 1 > n1.conf\n  svc cluster nats-config --cluster shop --servers 10.0.0.1,10.0.0.2,10.0.0.3 --at 2 --nkey UA... UB... UC... --tls /etc/nats > n2.conf\n",
    )
    .action((options: Options) => printConfig(shell, options));
}

async function printConfig(shell: Shell, { cluster, servers, at, folder, nkey = [], tls }: Options): Promise<void> {
  if (!NAME.test(cluster))
    throw usageFailure(
      `--cluster is ${JSON.stringify(cluster)}.`,
      "Expected 1 to 32 letters, digits, _ and -, e.g. shop",
    );
  const parsed = servers.split(",").map(serverOf);
  if (at > parsed.length) throw usageFailure(`--at is ${at}, but --servers names ${parsed.length}.`);
  const wrong = nkey.find((key) => !NKEY.test(key));
  if (wrong !== undefined)
    // The key is not quoted, because it may be a seed, which is a secret.
    throw usageFailure("--nkey is not a public key of an engine (U...).", "Create a key with: svc cluster nkey");
  if (!parsed.every(({ host }) => isLoopback(host)) && (nkey.length === 0 || tls === undefined))
    throw usageFailure(
      "A server that other machines can reach needs --nkey and --tls: every client that can connect may call every function.",
      "Create a key for each engine with `svc cluster nkey`, and name the folder of the certificates with --tls",
    );
  const { serverConfigs } = await import("@svc-runtime/engine/cluster");
  const files = serverConfigs({
    ...{ cluster, folder, servers: parsed, nkeys: nkey },
    ...(tls === undefined ? {} : { tls: { cert: `${tls}/server.pem`, key: `${tls}/server.key`, ca: `${tls}/ca.pem` } }),
  });
  shell.out(files[at - 1] ?? "");
}

function serverOf(text: string): { readonly host: string; readonly port: number } {
  const url = URL.canParse(`nats://${text.trim()}`) ? new URL(`nats://${text.trim()}`) : undefined;
  const port = Number(url?.port || DEFAULT_PORT);
  if (url === undefined || url.hostname === "" || url.pathname !== "" || url.username !== "" || port > HIGHEST_PORT)
    throw usageFailure(
      `--servers has ${JSON.stringify(text)}, which is not the address of a server.`,
      `Expected HOST or HOST:PORT with a port up to ${HIGHEST_PORT}, e.g. 10.0.0.1:4222`,
    );
  return { host: url.hostname, port };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || (isIP(host) === 4 && host.startsWith("127."));
}
