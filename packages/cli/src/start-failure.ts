import { ConfigError, ListenError } from "@svc/engine";
import { CommandFailure } from "./exit-codes.ts";
import { findPortHolder } from "./port-holder.ts";

/** What the engine's refusal to start means for the user: exit 1 with what to do. A defect stays what it is. */
export async function explainStartFailure(error: unknown): Promise<unknown> {
  if (error instanceof ConfigError) return new CommandFailure(`The config file has mistakes; the engine did not start.\n${error.message}`, { cause: error });
  if (error instanceof ListenError) return portFailure(error);
  // The data folder is locked or damaged, a module will not start: the engine's messages say what and what to do.
  if (error instanceof Error && !isDefect(error)) return new CommandFailure(`The engine did not start: ${error.message}`, { cause: error });
  return error;
}

async function portFailure(error: ListenError): Promise<CommandFailure> {
  const { port } = error.address;
  const holder = isInUse(error) ? await findPortHolder(port) : undefined;
  const advice = [
    ...(holder === undefined ? [] : [`Port ${port} is held by process ${holder.pid}: ${holder.command}`, `Stop it with: kill ${holder.pid}`]),
    "Or take other ports: svc --bridge-port 49135 --http-port 3121 --ws-port 3122",
  ];
  return new CommandFailure(`The engine did not start: ${error.message}.`, { advice, cause: error });
}

function isInUse(error: ListenError): boolean {
  return error.cause instanceof Error && "code" in error.cause && error.cause.code === "EADDRINUSE";
}

function isDefect(error: Error): boolean {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError || error instanceof SyntaxError;
}
