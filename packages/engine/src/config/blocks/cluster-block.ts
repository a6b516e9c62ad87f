import { hostname } from "node:os";
import { z } from "zod";

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;
const nameSchema = z.string().refine((name) => NAME.test(name), {
  message: "must have 1 to 32 letters, digits, _ and -, and begin with a letter or digit",
});
const fileSchema = z
  .string()
  .min(1)
  .refine((path) => !path.includes("\0"), { message: "cannot hold a NUL character" });
const MAX_SERVERS = 16;
const MIN_SNAPSHOT_AFTER = 65_536;
const SNAPSHOT_AFTER = 1_073_741_824;

const serverSchema = z.string().refine(isServerUrl, {
  message: "must be the address of a NATS server such as nats://10.0.0.1:4222, without user or password",
});

const natsSchema = z
  .strictObject({
    servers: z
      .array(serverSchema)
      .min(1)
      .max(MAX_SERVERS)
      .meta({ description: "Addresses of all NATS servers of the cluster, e.g. [nats://10.0.0.1:4222]" }),
    nkey_seed: z
      .string()
      .refine((seed) => /^SU[A-Z2-7]{56}$/.test(seed), { message: "must be the seed of an NKey of a user (SU...)" })
      .optional()
      .meta({ description: "Seed of this engine's NKey; write it as a variable" }),
    credentials: fileSchema.optional().meta({
      description: "File of credentials (.creds), relative to this file, for servers with JWT accounts",
    }),
    user: z.string().min(1).optional().meta({ description: "User name, if the servers have passwords" }),
    password: z.string().min(1).optional().meta({ description: "Password of `user`; write it as a variable" }),
    token: z.string().min(1).optional().meta({ description: "Token of the servers; write it as a variable" }),
    tls: z
      .strictObject({
        ca: fileSchema.optional().meta({
          description: "PEM file of the authority that signed the servers' certificates, relative to this file",
        }),
        cert: fileSchema
          .optional()
          .meta({ description: "PEM file of this engine's certificate, relative to this file" }),
        key: fileSchema.optional().meta({ description: "PEM file of its private key, relative to this file" }),
      })
      .refine(({ cert, key }) => (cert === undefined) === (key === undefined), {
        message: "needs cert and key together",
      })
      .optional()
      .meta({ description: "TLS to the servers. Required unless all of them are on this machine" }),
    replicas: z
      .union([z.literal(1), z.literal(3), z.literal(5)])
      .optional()
      .meta({
        description: "Number of servers that keep each write. Default: the number of servers, at most 3",
      }),
  })
  .refine(
    ({ nkey_seed, credentials, user, token }) => [nkey_seed, credentials, user, token].filter(Boolean).length <= 1,
    {
      message: "has more than one of nkey_seed, credentials, user and token; keep one",
    },
  )
  .refine(({ user, password }) => (user === undefined) === (password === undefined), {
    message: "needs user and password together",
  })
  .refine(({ servers, tls }) => tls !== undefined || servers.every(isLocal), {
    message:
      "needs tls, because a server is on another machine: what nodes exchange must not be read or changed on the way",
  });

/** Schema of `engine.cluster`. */
export const clusterBlockSchema = z
  .strictObject({
    name: nameSchema.meta({ description: "Name of the cluster, the same at all of its engines" }),
    node: nameSchema
      .optional()
      .meta({ description: "Name of this engine, different at each. Default: the name of the machine" }),
    nats: natsSchema.meta({ description: "The NATS servers that connect the engines and keep what they write" }),
    snapshot_after: z.int().min(MIN_SNAPSHOT_AFTER).optional().meta({
      description:
        "Growth of a log, in bytes, after which an engine stores a snapshot of the data with the NATS servers, and entries that the snapshot before contains are removed. At least half of the data's size counts. Default 1 GiB",
    }),
  })
  .meta({ description: "Makes this engine a node of a cluster. Default: none, the engine is alone" });
export type ClusterBlock = z.output<typeof clusterBlockSchema>;

/** How an engine takes part in a cluster. Paths are absolute. */
export interface ClusterSettings {
  readonly name: string;
  readonly node: string;
  readonly nats: NatsSettings;
  /** Growth of a log after which a snapshot is taken, in bytes. */
  readonly snapshotAfter: number;
}

export interface NatsSettings {
  readonly servers: readonly string[];
  readonly nkeySeed?: string | undefined;
  readonly credentials?: string | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
  readonly tls?:
    | { readonly ca?: string | undefined; readonly cert?: string | undefined; readonly key?: string | undefined }
    | undefined;
  readonly replicas: number;
}

/** Returns the settings of a block. `beside` makes a path absolute that is relative to the config file. */
export function clusterSettings(
  { name, node, nats, snapshot_after: snapshotAfter }: ClusterBlock,
  beside: (path: string) => string,
): ClusterSettings {
  const { servers, nkey_seed: nkeySeed, credentials, user, password, token, tls, replicas } = nats;
  const absolute = (path: string | undefined): string | undefined => (path === undefined ? undefined : beside(path));
  return {
    name,
    node: node ?? defaultNode(),
    snapshotAfter: snapshotAfter ?? SNAPSHOT_AFTER,
    nats: {
      ...{ servers, nkeySeed, user, password, token },
      credentials: absolute(credentials),
      tls: tls && { ca: absolute(tls.ca), cert: absolute(tls.cert), key: absolute(tls.key) },
      replicas: replicas ?? Math.min(3, servers.length),
    },
  };
}

/** Returns the machine's name. Characters that a node's name may not have are replaced. */
function defaultNode(): string {
  const name = (hostname().split(".")[0] ?? "").replace(/[^A-Za-z0-9_-]/g, "-").slice(0, 32);
  return NAME.test(name) ? name : "node";
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function isServerUrl(text: string): boolean {
  const url = urlOf(text);
  if (url === undefined || !["nats:", "tls:"].includes(url.protocol) || url.hostname === "") return false;
  return url.username === "" && url.password === "" && ["", "/"].includes(url.pathname) && url.search === "";
}

function isLocal(server: string): boolean {
  const host = urlOf(server)?.hostname.replace(/^\[|\]$/g, "") ?? "";
  return host === "localhost" || host === "::1" || /^127\./.test(host);
}
