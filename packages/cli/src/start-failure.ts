import { ConfigError, ListenError } from "@svc/engine";
import { CommandFailure } from "./exit-codes.ts";
import { FIRST_OUTGOING_PORT, freePortLike } from "./free-port.ts";
import { findPortHolder, isHeldByConnection } from "./port-holder.ts";
import { retyped } from "./typed-command.ts";

/** What the engine's refusal to start means for the user: exit 1 with what to do. A defect stays what it is. `typed` is the command that started it. */
export async function explainStartFailure(error: unknown, typed: readonly string[]): Promise<unknown> {
  if (error instanceof ConfigError) return new CommandFailure(`The config file has mistakes; the engine did not start.\n${error.message}`, { cause: error });
  if (error instanceof ListenError) return portFailure(error, typed);
  // The data folder is locked or damaged, a module will not start: the engine's messages say what and what to do.
  if (error instanceof Error && !isDefect(error)) return new CommandFailure(`The engine did not start: ${error.message}`, { cause: error });
  return error;
}

/** Which option moves which listener; a module's own port stands in the config file alone. */
const FLAGS: ReadonlyMap<string, string> = new Map([
  ["workers", "--bridge-port"],
  ["HTTP", "--http-port"],
  ["streams", "--ws-port"],
]);

async function portFailure(error: ListenError, typed: readonly string[]): Promise<CommandFailure> {
  const { port } = error.address;
  if (isInUse(error) && (await isHeldByConnection(port))) return connectionFailure(error, await otherPort(error, typed));
  const holder = isInUse(error) ? await findPortHolder(port) : undefined;
  const advice = [
    ...(holder === undefined ? [] : [`Port ${port} is held by process ${holder.pid}: ${holder.command}`, `Stop it with: kill ${holder.pid}`]),
    `Or take another port: ${await otherPort(error, typed)}`,
  ];
  return new CommandFailure(`The engine did not start: ${error.message}.`, { advice, cause: error });
}

function connectionFailure(error: ListenError, other: string): CommandFailure {
  const { port } = error.address;
  const why = port < FIRST_OUTGOING_PORT ? "" : ` The system gives ports from ${FIRST_OUTGOING_PORT} up to outgoing connections.`;
  return new CommandFailure(`The engine did not start: port ${port} is taken, though nobody listens on it.`, {
    advice: [
      `A connection that is going out has it, or one that ended within the last minute.${why}`,
      `Try again in a minute, or take a port below ${FIRST_OUTGOING_PORT}: ${other}`,
    ],
    cause: error,
  });
}

/** The same command with another port, or where else the port is said. */
async function otherPort({ what, address }: ListenError, typed: readonly string[]): Promise<string> {
  const flag = FLAGS.get(what);
  if (flag === undefined) return "its number stands in the config file";
  return retyped(typed, flag, await freePortLike(address.port, typed.map(Number)));
}

function isInUse(error: ListenError): boolean {
  return error.cause instanceof Error && "code" in error.cause && error.cause.code === "EADDRINUSE";
}

function isDefect(error: Error): boolean {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError || error instanceof SyntaxError;
}
