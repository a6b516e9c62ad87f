import type { Shell } from "../shell.ts";

/** What keys do while `svc dev` runs. */
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
  // Ctrl-D is how one leaves a shell; Enter sets what comes apart from what was.
  "\u0004": "quit",
  "\r": "emptyLine",
};

/** Listens to keys where there is a terminal; answers the undo. */
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
  r      restart all workers, installing first what changed
  o      open the console in the browser
  Enter  an empty line, to see where you are
  h, ?   this help
  q      end engine, workers and console, as Ctrl-C does; a second time at once

Each line begins with who wrote it; ! marks what a worker wrote to its stderr.
Add and change workers in a second terminal: svc worker --help
`;
