import { parseArgs } from "node:util";

/** Rows that are measured if `--rows` is not given. */
export const ROWS = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 23, 24, 25, 29, 30, 31,
] as const;
/** Rows of the console. They are measured only if `--rows` names them, because they need a browser. */
export const CONSOLE_ROWS = [26, 27, 28, 32] as const;
/** Rows of a cluster. They are measured only if `--rows` names them, because they need a NATS server. */
const CLUSTER_ROWS = [33, 34] as const;
const ALL_ROWS: readonly number[] = [...ROWS, ...CONSOLE_ROWS, ...CLUSTER_ROWS];

export interface Options {
  readonly rows: ReadonlySet<number>;
  readonly rounds: number;
  /** Load before each measuring window, in milliseconds. */
  readonly warmUpMs: number;
  /** Each measuring window, in milliseconds. */
  readonly measureMs: number;
  /** Use few and short windows. This shows that the bench works, but not the engine's performance. */
  readonly quick: boolean;
  /** Exit with 1 if a binding bar fails. */
  readonly strict: boolean;
  /** Install and measure other systems too. */
  readonly peers: boolean;
  /** The measured engine. `naive` measures the baseline against itself, which shows the noise of the machine. */
  readonly engine: "svc" | "naive";
  /** Folder of another checkout whose engine is compared with this one. */
  readonly against: string | undefined;
  /** The engine writes a CPU profile when it stops. */
  readonly profile: boolean;
}

export const USAGE = `usage: npm run bench -- [options]

  --rows 1,2,4     only these rows of the budget table (default: ${ROWS.join(",")});
                   ${CONSOLE_ROWS.join(",")} are of the console and need a Chromium
  --cluster        only the rows of a cluster (${CLUSTER_ROWS.join(",")}); they need a NATS server: node scripts/nats-server.mjs
  --rounds N       measured rounds per comparison (default 5)
  --quick          2 short rounds: a smoke test, its figures mean little
  --strict         exit with 1 when a binding bar fails
  --peers          also measure other systems (rows 5 to 7 and 21); installs them into .cache/bench first
  --profile        the engine writes CPU profiles into bench/results
  --against DIR    also run each load on the engine of the checkout in DIR (installed, built and bundled), directly
                   before or after, and compare their CPU time; give at least 15 rounds
  --engine naive   measure the baseline engine in the engine's place
  --help           show this`;

/** Thrown for an invalid command line. The message names the problem and what is expected. */
export class UsageError extends Error {}

/** Parses the command line. Returns undefined for a request for help. Throws UsageError. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const values = read(args);
  if (values.help) return undefined;
  const engine = values.engine ?? "svc";
  if (engine !== "svc" && engine !== "naive")
    throw new UsageError(`--engine takes svc or naive, not ${JSON.stringify(engine)}`);
  if (values.against !== undefined && engine === "naive")
    throw new UsageError("--against compares two engines: do not give --engine naive with it");
  if (values.cluster === true && values.rows !== undefined)
    throw new UsageError("--cluster and --rows exclude each other");
  const quick = values.quick ?? false;
  return {
    rows: values.cluster === true ? new Set(CLUSTER_ROWS) : parseRows(values.rows),
    rounds: values.rounds === undefined ? (quick ? 2 : 5) : parseRounds(values.rounds),
    warmUpMs: quick ? 150 : 300,
    measureMs: quick ? 300 : 1000,
    quick,
    strict: values.strict ?? false,
    peers: values.peers ?? false,
    engine,
    against: values.against,
    profile: values.profile ?? false,
  };
}

function read(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        rows: { type: "string" },
        rounds: { type: "string" },
        cluster: { type: "boolean" },
        quick: { type: "boolean" },
        strict: { type: "boolean" },
        peers: { type: "boolean" },
        profile: { type: "boolean" },
        engine: { type: "string" },
        against: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function parseRows(text: string | undefined): ReadonlySet<number> {
  if (text === undefined) return new Set(ROWS);
  const rows = text.split(",").map((part) => Number(part.trim()));
  for (const row of rows) {
    if (!ALL_ROWS.includes(row))
      throw new UsageError(
        `--rows takes rows out of ${ALL_ROWS.join(",")}, separated by commas, not ${JSON.stringify(text)}`,
      );
  }
  return new Set(rows);
}

function parseRounds(text: string): number {
  const rounds = Number(text);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 50)
    throw new UsageError(`--rounds takes a whole number from 1 to 50, not ${JSON.stringify(text)}`);
  return rounds;
}
