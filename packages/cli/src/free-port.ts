import { once } from "node:events";
import { createServer } from "node:net";

/** From here up the system gives ports to outgoing connections, on Linux by default. */
export const FIRST_OUTGOING_PORT = 32_768;
/** Where one looks for another port in place of one from up there. */
const LOWER_START = 29_124;
/** So that the neighbours of a taken port, which are this engine's other ports by default, are left alone. */
const STEP = 10;
const TRIES = 20;

/** A port like the given one that nothing listens on now and that is none of `avoided`. */
export async function freePortLike(port: number, avoided: readonly number[]): Promise<number> {
  const start = port + STEP * TRIES < FIRST_OUTGOING_PORT ? port : LOWER_START;
  const candidates = Array.from({ length: TRIES }, (_, index) => start + (index + 1) * STEP).filter((candidate) => !avoided.includes(candidate));
  for (const candidate of candidates) if (await isFree(candidate)) return candidate;
  // Any one that is free then.
  return 0;
}

async function isFree(port: number): Promise<boolean> {
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
