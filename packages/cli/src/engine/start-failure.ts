import { ConfigError, ListenError } from "@svc-runtime/engine";
import { CommandFailure } from "../exit-codes.ts";
import { retyped } from "../typed-command.ts";
import { FIRST_EPHEMERAL_PORT, freePortLike } from "./free-port.ts";
import { findPortHolder, isUsedByConnection } from "./port-holder.ts";

/**
 * Converts a failed start of the engine to an error with advice (exit 1). An error that is a bug is returned unchanged.
 * `typed` is the command with which the user started the engine.
 */
export async function explainStartFailure(error: unknown, typed: readonly string[]): Promise<unknown> {
  if (error instanceof ConfigError)
    return new CommandFailure(`The engine failed to start: the config file is invalid.\n${error.message}`, {
      cause: error,
    });
  if (error instanceof ListenError) return portFailure(error, typed);
  // Other errors, e.g. of a locked data folder or a failed module, need no advice beyond the engine's message.
  if (error instanceof Error && !isBug(error))
    return new CommandFailure(`The engine failed to start: ${error.message}`, { cause: error });
  return error;
}

/** Options that set the port of a listener, by listener. Ports of other listeners are set only in the config file. */
const FLAGS: ReadonlyMap<string, string> = new Map([
  ["workers", "--bridge-port"],
  ["HTTP", "--http-port"],
  ["streams", "--ws-port"],
]);

async function portFailure(error: ListenError, typed: readonly string[]): Promise<CommandFailure> {
  const { port } = error.address;
  if (isInUse(error) && (await isUsedByConnection(port)))
    return connectionFailure(error, await otherPort(error, typed));
  const holder = isInUse(error) ? await findPortHolder(port) : undefined;
  const advice = [
    ...(holder === undefined
      ? []
      : [`Port ${port} is in use by process ${holder.pid}: ${holder.command}`, `Stop it with: kill ${holder.pid}`]),
    `Or use another port: ${await otherPort(error, typed)}`,
  ];
  return new CommandFailure(`The engine failed to start: ${error.message}.`, { advice, cause: error });
}

function connectionFailure(error: ListenError, other: string): CommandFailure {
  const { port } = error.address;
  const why =
    port < FIRST_EPHEMERAL_PORT
      ? ""
      : ` The system uses ports from ${FIRST_EPHEMERAL_PORT} up for outgoing connections.`;
  return new CommandFailure(`The engine failed to start: port ${port} is in use, although no process listens on it.`, {
    advice: [
      `An outgoing connection is using it, or one that closed within the last minute.${why}`,
      `Try again in a minute, or use a port below ${FIRST_EPHEMERAL_PORT}: ${other}`,
    ],
    cause: error,
  });
}

/** Returns the same command with another port. If no option sets the port, returns a hint on where it is set. */
async function otherPort({ what, address }: ListenError, typed: readonly string[]): Promise<string> {
  const flag = FLAGS.get(what);
  if (flag === undefined) return "the port is set in the config file";
  return retyped(typed, flag, await freePortLike(address.port, typed.map(Number)));
}

function isInUse(error: ListenError): boolean {
  return error.cause instanceof Error && "code" in error.cause && error.cause.code === "EADDRINUSE";
}

function isBug(error: Error): boolean {
  return (
    error instanceof TypeError ||
    error instanceof ReferenceError ||
    error instanceof RangeError ||
    error instanceof SyntaxError
  );
}
