import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  DEFAULT_PLACE,
  ENABLE_FLOW,
  firstWorker,
  greet,
  placeOf,
  sendToStream,
  setState,
  writeLog,
} from "./example-commands.ts";

const guide = readFileSync(new URL("../../../../../docs/guide/console.md", import.meta.url), "utf8");

/** Returns the code of a sample of the guide, as the guide's test runs it. */
function sample(name: string): string {
  const [, code] = new RegExp(`^<!-- sample: ${name} -->\\n+\`\`\`\\w+\\n(.*?)\\n\`\`\`$`, "ms").exec(guide) ?? [];
  if (code === undefined) throw new Error(`the guide has no sample ${name}`);
  return code;
}

it("shows the commands of the guide, which its test runs", () => {
  for (const language of ["typescript", "python"] as const) {
    const blocks = firstWorker(language, DEFAULT_PLACE).flatMap((step) => step.blocks);
    expect(blocks).toEqual([
      ...["install", "worker", "start"].map((part) => sample(`${language}-${part}`)),
      sample("greet"),
    ]);
  }
  expect(greet(DEFAULT_PLACE)).toBe(sample("greet"));
  expect(writeLog(DEFAULT_PLACE)).toBe(sample("log"));
  expect(sendToStream(DEFAULT_PLACE)).toBe(sample("stream"));
  expect(setState(DEFAULT_PLACE)).toBe(sample("state"));
  expect(ENABLE_FLOW).toBe(sample("flow"));
});

it("names the engine if it listens elsewhere", () => {
  expect(placeOf("ws://127.0.0.1:49134", DEFAULT_PLACE.version)).toEqual(DEFAULT_PLACE);
  expect(greet(placeOf("ws://[::1]:49134", "1.2.3"))).not.toContain("--url");
  expect(greet({ ...DEFAULT_PLACE, bridge: "ws://127.0.0.1:5000" })).toContain("--url ws://127.0.0.1:5000");
  expect(firstWorker("python", { bridge: "ws://10.0.0.1:49134", version: "1.2.3" })[0]?.blocks).toEqual([
    "pip install --find-links sdk svc-runtime==1.2.3+project",
  ]);
});

it("is the only file with commands, apart from the snippets of calls", () => {
  const web = new URL("../", import.meta.url);
  const files = readdirSync(web, { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.tsx?$/.test(file) && !/\.test\.|model\/example-commands\.ts$|invoke\/snippets\.ts$/.test(file),
  );
  expect(files.length).toBeGreaterThan(100);
  const withCommands = files.filter((file) =>
    /svc (?:call|trigger|worker|create)\b|(?:pip|npm) install|:3111\b|:3112\b|:49134\b/.test(
      readFileSync(new URL(file, web), "utf8"),
    ),
  );
  expect(withCommands).toEqual([]);
});
