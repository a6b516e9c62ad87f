import { InvalidArgumentError, Option } from "commander";

/** `--config`, as every command takes it. Without a default here: a value given to `svc` itself would be hidden by it. */
export function configOption(description: string): Option {
  return new Option("-c, --config <file>", `${description} (default: "config.yaml")`);
}

export function urlOption(): Option {
  return new Option(
    "--url <url>",
    "address of the engine (default: SVC_URL, else the engine that runs for config.yaml, else its bridge port, else ws://localhost:49134)",
  );
}

/** A TCP port; 0 picks a free one. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError("It takes a port from 0 to 65535; 0 picks a free one.");
  return port;
}
