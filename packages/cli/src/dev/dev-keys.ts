import type { Shell } from "../shell.ts";

/** Actions that the keys start while `svc dev` runs. */
export interface DevActions {
  restartWorkers(): void;
  openConsole(): void;
  help(): void;
  quit(): void;
  emptyLine(): void;
}

const ACTIONS: Readonly<Record<string, keyof DevActions>> = {
  r: "restartWorkers",
  o: "openConsole",
  h: "help",
  "?": "help",
  q: "quit",
  "ctrl-c": "quit",
  // Ctrl-D quits, because it leaves most shells. Enter prints an empty line, which separates new output from old
  // output.
  "\u0004": "quit",
  "\r": "emptyLine",
};

/** Listens for keys. Does nothing without a terminal. Returns a function that stops listening. */
export function listenForDevKeys(shell: Pick<Shell, "onKey">, actions: DevActions): () => void {
  return (
    shell.onKey?.((key) => {
      const action = ACTIONS[key.toLowerCase()];
      if (action !== undefined) actions[action]();
    }) ?? (() => {})
  );
}

export const KEYS_LINE = "r restart workers   o open the console   h help   q quit";

export const KEYS_HELP = `
Keys
  r      restart all workers, and install changed dependencies first
  o      open the console in the browser
  Enter  print an empty line
  h, ?   this help
  q      stop everything, as Ctrl-C does; press again to stop at once

Each line begins with its source; ! marks standard error of a worker.
Add and change workers in a second terminal: svc worker --help
`;
