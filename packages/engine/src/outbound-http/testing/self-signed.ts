import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** A self-signed certificate for one host, created for each test run. PEM. */
export interface SelfSigned {
  readonly key: string;
  readonly cert: string;
}

const ECDSA_WITH_SHA256 = sequence(objectId([42, 134, 72, 206, 61, 4, 3, 2]));
const COMMON_NAME = objectId([85, 4, 3]);
const ALT_NAME = objectId([85, 29, 17]);
const BASIC_CONSTRAINTS = objectId([85, 29, 19]);

/** Node can read certificates but not write them. This writes the few bytes of X.509 (RFC 5280) that TLS needs. */
export function selfSigned(host: string): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(host)))));
  const day = 86_400_000;
  const validity = sequence(utcTime(Date.now() - day), utcTime(Date.now() + day));
  const extensions = sequence(
    sequence(BASIC_CONSTRAINTS, der(0x04, sequence(der(0x01, Buffer.from([0xff]))))),
    sequence(ALT_NAME, der(0x04, sequence(der(0x82, Buffer.from(host))))),
  );
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)]);
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ECDSA_WITH_SHA256,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", body, privateKey)]));
  const base64 = sequence(body, ECDSA_WITH_SHA256, signature).toString("base64");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function objectId(bytes: readonly number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function utcTime(ms: number): Buffer {
  return der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`));
}
