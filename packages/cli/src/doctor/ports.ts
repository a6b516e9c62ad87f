import { createServer } from "node:net";
import { findPortHolder } from "../engine/port-holder.ts";
import type { Check, Finding } from "./finding.ts";

/**
 * Checks that the ports of the config file are free. Does nothing if the engine is running, because it uses these ports
 * itself.
 */
export const ports: Check = async ({ report, isRunning }) => {
  if (report.config === undefined || isRunning) return [];
  const { engine, http, realtime } = report.config;
  const listeners = [
    { key: "engine.bridge.port", address: engine.bridge },
    { key: "svc-http.port", address: http },
    { key: "svc-stream.port", address: realtime },
    ...engine.bridges.map(({ address }, index) => ({ key: `engine.bridges[${index}].port`, address })),
  ].filter(({ address }) => address.port !== 0);
  return Promise.all(listeners.map(({ key, address }) => portFinding(key, address)));
};

async function portFinding(
  key: string,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Finding> {
  const check = `port ${port}`;
  const code = await listenProblem(host, port);
  if (code === undefined) return { check, status: "ok", message: `free (${key})` };
  if (code === "EACCES") {
    return {
      check,
      status: "problem",
      message: `this user has no permission to listen on it (${key})`,
      remedy: `Choose a port from 1024 up for ${key}`,
    };
  }
  if (code !== "EADDRINUSE")
    return {
      check,
      status: "problem",
      message: `cannot listen on ${host}: ${code} (${key})`,
      remedy: "Correct the host next to the port",
    };
  const holder = await findPortHolder(port);
  const message =
    holder === undefined ? `in use (${key})` : `in use by process ${holder.pid}: ${holder.command} (${key})`;
  return {
    check,
    status: "problem",
    message,
    remedy: `${holder === undefined ? "Stop the process that uses it" : `Stop it with: kill ${holder.pid}`}, or set another ${key}`,
  };
}

/** Listens briefly on the port. Returns the system's error code if that fails. */
function listenProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((settle) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => settle(undefined)));
  });
}
