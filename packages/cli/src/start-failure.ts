import { ConfigError, ListenError } from "@svc/engine";
import { CommandFailure } from "./exit-codes.ts";
import { findPortHolder, isHeldByConnection } from "./port-holder.ts";

/** What the engine's refusal to start means for the user: exit 1 with what to do. A defect stays what it is. */
export async function explainStartFailure(error: unknown): Promise<unknown> {
  if (error instanceof ConfigError) return new CommandFailure(`The config file has mistakes; the engine did not start.\n${error.message}`, { cause: error });
  if (error instanceof ListenError) return portFailure(error);
  // The data folder is locked or damaged, a module will not start: the engine's messages say what and what to do.
  if (error instanceof Error && !isDefect(error)) return new CommandFailure(`The engine did not start: ${error.message}`, { cause: error });
  return error;
}

/** From here up the system gives ports to outgoing connections, on Linux by default. */
const FIRST_OUTGOING_PORT = 32_768;
const OTHER_PORTS = "svc --bridge-port 29134 --http-port 3121 --ws-port 3122";

async function portFailure(error: ListenError): Promise<CommandFailure> {
  const { port } = error.address;
  if (isInUse(error) && (await isHeldByConnection(port))) return connectionFailure(error);
  const holder = isInUse(error) ? await findPortHolder(port) : undefined;
  const advice = [
    ...(holder === undefined ? [] : [`Port ${port} is held by process ${holder.pid}: ${holder.command}`, `Stop it with: kill ${holder.pid}`]),
    `Or take other ports: ${OTHER_PORTS}`,
  ];
  return new CommandFailure(`The engine did not start: ${error.message}.`, { advice, cause: error });
}

function connectionFailure(error: ListenError): CommandFailure {
  const { port } = error.address;
  const why = port < FIRST_OUTGOING_PORT ? "" : ` The system gives ports from ${FIRST_OUTGOING_PORT} up to outgoing connections.`;
  return new CommandFailure(`The engine did not start: port ${port} is taken, though nobody listens on it.`, {
    advice: [
      `A connection that is going out has it, or one that ended within the last minute.${why}`,
      `Try again in a minute, or take ports below ${FIRST_OUTGOING_PORT}: ${OTHER_PORTS}`,
    ],
    cause: error,
  });
}

function isInUse(error: ListenError): boolean {
  return error.cause instanceof Error && "code" in error.cause && error.cause.code === "EADDRINUSE";
}

function isDefect(error: Error): boolean {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError || error instanceof SyntaxError;
}
