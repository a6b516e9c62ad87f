import { once } from "node:events";
import { createServer } from "node:net";

/** Default start of the range from which Linux takes ports for outgoing connections. */
export const FIRST_EPHEMERAL_PORT = 32_768;
/** The search starts here if it would otherwise reach that range. */
const LOWER_START = 29_124;
/** Difference between two tried ports. It is more than 1 because the engine's other ports are neighbours by default. */
const STEP = 10;
const TRIES = 20;

/** Returns a free port near the given one that is not in `avoided`, or 0 (any free port) if it finds none. */
export async function freePortLike(port: number, avoided: readonly number[]): Promise<number> {
  const start = port + STEP * TRIES < FIRST_EPHEMERAL_PORT ? port : LOWER_START;
  const candidates = Array.from({ length: TRIES }, (_, index) => start + (index + 1) * STEP).filter(
    (candidate) => !avoided.includes(candidate),
  );
  for (const candidate of candidates) if (await isFree(candidate)) return candidate;
  return 0;
}

/** Returns true if a process can listen on the port now. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port), "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
