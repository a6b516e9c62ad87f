import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { request as plainRequest } from "node:http";
import { networkInterfaces } from "node:os";
import { ENGINE_PROOF_PATH, engineProofKey, engineProofText } from "@svc-runtime/protocol";
import { CommandFailure, EXIT } from "../exit-codes.ts";
import type { AnnouncedEngine } from "./announced-engine.ts";

const TIMEOUT_MS = 3000;
/**
 * Maximum length of a response, in characters. A proof has only 43 characters, so a longer response is not from an
 * engine.
 */
const MAX_RESPONSE_CHARS = 1024;

interface Answer {
  readonly status: number;
  readonly body: string;
  /** Remote address and port of the connection. */
  readonly address: string;
  readonly port: number;
}

/**
 * Makes the engine of `engine.json` prove that it owns this data folder, before anything secret is sent to it. The
 * proof is needed because another process may have the engine's pid and port after a crash. Returns the WebSocket
 * address to connect to. Without TLS, it contains the IP address from which the proof came.
 *
 * Throws CommandFailure (exit 3) if there is no valid proof.
 */
export async function requireProof({ url, proofKey, token, tokenFile }: AnnouncedEngine): Promise<string> {
  if (proofKey === undefined) {
    throw new CommandFailure(
      `The engine at ${url} cannot prove that it is the engine of this folder: an older svc started it. No token was sent.`,
      {
        exitCode: EXIT.noEngine,
        advice: ["Restart it with this version of svc: stop it, then run: svc dev", useAnywayAdvice(url)],
      },
    );
  }
  if (tokenFile !== undefined && token === undefined) {
    throw new CommandFailure(`Cannot read the token file of the engine at ${url}: ${tokenFile}`, {
      exitCode: EXIT.noEngine,
      advice: ["Restart the engine, which creates a new one: stop it, then run: svc dev", useAnywayAdvice(url)],
    });
  }
  const nonce = randomBytes(32).toString("base64url");
  let answer: Answer;
  try {
    answer = await requestProof(url, nonce);
  } catch (error) {
    throw notThisEngine(url, `it did not respond to the proof request (${(error as Error).message})`);
  }
  const { status, body, address, port } = answer;
  if (!isOwnAddress(address)) throw notThisEngine(url, `${address} is an address of another machine`);
  if (status !== 200) throw notThisEngine(url, `it responded to the proof request with HTTP ${status}`);
  const expected = createHmac("sha256", engineProofKey(proofKey, token))
    .update(engineProofText({ nonce, address, port }))
    .digest();
  if (!isValidProof(body, expected)) throw notThisEngine(url, "its proof is not valid");
  const named = new URL(url);
  // With TLS the host name must stay, because the certificate is issued for it.
  if (named.protocol === "ws:") named.hostname = address.includes(":") ? `[${address}]` : address;
  return named.href.replace(/\/$/, "");
}

async function requestProof(url: string, nonce: string): Promise<Answer> {
  const { protocol, host } = new URL(url);
  const isTls = protocol === "wss:";
  const send = isTls ? (await import("node:https")).request : plainRequest;
  return new Promise((resolve, reject) => {
    const request = send(`${isTls ? "https" : "http"}://${host}${ENGINE_PROOF_PATH}${nonce}`, {
      agent: false,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    request.on("error", reject);
    request.on("response", (response) => {
      const { remoteAddress: address = "", remotePort: port = 0 } = response.socket;
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
        if (body.length > MAX_RESPONSE_CHARS) request.destroy(new Error("the response is too long"));
      });
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body, address, port }));
    });
    request.end();
  });
}

function isValidProof(body: string, expected: Buffer): boolean {
  let proof: unknown;
  try {
    proof = (JSON.parse(body) as { readonly proof?: unknown } | null)?.proof;
  } catch {
    return false;
  }
  const given = Buffer.from(typeof proof === "string" ? proof : "", "base64url");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/**
 * Returns true if the address belongs to this machine. This is checked because an `engine.json` from a cloned
 * repository may name another machine.
 */
function isOwnAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, "").replace(/%.*$/, "");
  if (plain.startsWith("127.")) return true;
  return Object.values(networkInterfaces()).some(
    (addresses) => addresses?.some((own) => own.address === plain) === true,
  );
}

function notThisEngine(url: string, why: string): CommandFailure {
  return new CommandFailure(
    `The process that listens at ${url} is not the engine of this folder: ${why}. No token was sent.`,
    {
      exitCode: EXIT.noEngine,
      advice: [
        "engine.json in the data folder may be left over from a killed engine. Start the engine of this folder: svc dev",
        useAnywayAdvice(url),
      ],
    },
  );
}

function useAnywayAdvice(url: string): string {
  return `To use it anyway, pass --url ${url} and set SVC_TOKEN if it requires a token`;
}
