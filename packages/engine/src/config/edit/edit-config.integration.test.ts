// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a config file are written this way
import { writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockFile } from "../../store/file-lock.ts";
import { ConfigError } from "../types.ts";
import { addWorkerToConfig, editConfigText, lockFileOf, removeWorkerFromConfig, withEditLock } from "./edit-config.ts";
import { entryLists, withEntry, withoutEntries } from "./list-edit.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-config-edit-"));
  file = join(folder, "config.yaml");
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const save = (text: string): Promise<void> => writeFile(file, text);
const saved = (): Promise<string> => readFile(file, "utf8");
const state = { name: "svc-state" };
const math = { name: "math", path: "./workers/math" };

describe("adding an entry", () => {
  it.each([
    ["an empty list", "workers: []\n", "workers:\n  - name: math\n    path: ./workers/math\n"],
    [
      "an empty list with a comment",
      "workers: []  # none yet\n",
      "workers:  # none yet\n  - name: math\n    path: ./workers/math\n",
    ],
    ["an empty file", "", "workers:\n  - name: math\n    path: ./workers/math\n"],
    [
      "a file of comments",
      "# My project\n\n# nothing yet",
      "# My project\n\n# nothing yet\nworkers:\n  - name: math\n    path: ./workers/math\n",
    ],
    [
      "a key without value",
      "workers:\nengine:\n  drain_ms: 5\n",
      "workers:\n  - name: math\n    path: ./workers/math\nengine:\n  drain_ms: 5\n",
    ],
    [
      "a key with null and a comment",
      "workers: null # later\n",
      "workers:  # later\n  - name: math\n    path: ./workers/math\n",
    ],
    [
      "a file without the list",
      "engine:\n  drain_ms: 5\n",
      "engine:\n  drain_ms: 5\n\nworkers:\n  - name: math\n    path: ./workers/math\n",
    ],
    [
      "a list of the older key",
      "modules:\n- name: a\n  path: a\n",
      "modules:\n- name: a\n  path: a\n- name: math\n  path: ./workers/math\n",
    ],
    [
      "a file without a last line break",
      "workers:\n  - name: a",
      "workers:\n  - name: a\n  - name: math\n    path: ./workers/math\n",
    ],
    [
      "a file with Windows line ends",
      "workers:\r\n  - name: a\r\n",
      "workers:\r\n  - name: a\r\n  - name: math\r\n    path: ./workers/math\r\n",
    ],
    [
      "a list of bracketed entries",
      "workers: [{name: a}] # one\n",
      "workers:\n  - { name: a }\n  - name: math\n    path: ./workers/math\n  # one\n",
    ],
    ["a file in brackets", "{workers: []}\n", "workers:\n  - name: math\n    path: ./workers/math\n"],
    ["a marked document", "---\nworkers: []\n...\n", "---\nworkers:\n  - name: math\n    path: ./workers/math\n...\n"],
  ])("turns %s into a list with it", async (_what, before, after) => {
    await save(before);
    expect(await addWorkerToConfig(file, math)).toEqual({ changed: true });
    expect(await saved()).toBe(after);
    expect(await readFile(`${file}.bak`, "utf8")).toBe(before);
  });

  it("keeps comments, order, quotes, blank lines and odd indentation of the rest to the byte", async () => {
    const before = `# Project   config
engine:   {drain_ms:  5}   # quick


workers:
    # The store
    - name:   'svc-state'    # quoted
      config:
          adapter: {name: in_memory}
          # file_based keeps it

    # Adds numbers
    - name: "adder"
      path: ./adder
      # replicas: 2
    # - name: svc-http

# The end
`;
    await save(before);
    await addWorkerToConfig(file, { ...math, replicas: 2, env: { MODE: "fast" } }, { comment: "Multiplies" });
    const added =
      "\n    # Multiplies\n    - name: math\n      path: ./workers/math\n      replicas: 2\n      env:\n        MODE: fast\n";
    const split = before.indexOf("\n# The end");
    expect(await saved()).toBe(before.slice(0, split) + added + before.slice(split));
  });

  it("keeps a module's config, with variables as they are", async () => {
    await save("workers: []\n");
    await addWorkerToConfig(file, { name: "svc-http", config: { port: "${PORT:3111}", cors: null, list: [] } });
    expect(await saved()).toBe(
      "workers:\n  - name: svc-http\n    config:\n      port: ${PORT:3111}\n      cors: null\n      list: []\n",
    );
  });

  it("creates a file that is missing, without a backup", async () => {
    await addWorkerToConfig(file, state);
    expect(await saved()).toBe("workers:\n  - name: svc-state\n");
    expect((await readdir(folder)).sort()).toEqual([".svc", "config.yaml"]);
  });

  it("changes nothing when the entry is there already, by whatever name", async () => {
    const text =
      "modules:\n  - class: modules::state::StateModule\nworkers:\n  - name: math\n    worker_path: workers/math/\n";
    await save(text);
    expect(await addWorkerToConfig(file, state)).toEqual({ changed: false });
    expect(await addWorkerToConfig(file, math)).toEqual({ changed: false });
    expect(await addWorkerToConfig(file, { name: "math", path: join(folder, "workers/math") })).toEqual({
      changed: false,
    });
    expect(await saved()).toBe(text);
    expect((await readdir(folder)).sort()).toEqual([".svc", "config.yaml"]);
  });

  it("writes an absolute folder relative to the file", async () => {
    await addWorkerToConfig(file, { name: "near", path: join(folder, "workers", "near") });
    await addWorkerToConfig(file, { name: "far", path: join(folder, "..", "far") });
    expect(await saved()).toBe("workers:\n  - name: near\n    path: ./workers/near\n  - name: far\n    path: ../far\n");
  });

  it("refuses a name or a folder that stands for something else", async () => {
    await save("workers:\n  - name: math\n    path: ./other\n");
    await expect(addWorkerToConfig(file, math)).rejects.toMatchObject({
      code: "name_taken",
      message: expect.stringContaining("as ./other"),
    });
    await expect(addWorkerToConfig(file, { name: "second", path: "other" })).rejects.toMatchObject({
      code: "path_taken",
      message: expect.stringContaining("replicas: 2"),
    });
    await expect(addWorkerToConfig(file, { name: "math" })).rejects.toMatchObject({ code: "name_taken" });
  });

  it.each([
    ["broken YAML", "workers:\n  - name: a\n   path: b\n"],
    ["no list", "workers: 5\n"],
    ["no block of keys", "- name: a\n"],
  ])("refuses a file with %s and leaves it alone", async (_what, text) => {
    await save(text);
    await expect(addWorkerToConfig(file, math)).rejects.toBeInstanceOf(ConfigError);
    expect(await saved()).toBe(text);
    expect((await readdir(folder)).sort()).toEqual([".svc", "config.yaml"]);
  });
});

describe("removing an entry", () => {
  it("takes the entry with its comments and leaves the others to the byte", async () => {
    await save(
      "# head\nworkers:\n  # All of them\n  - name: a # first\n    path: ./a\n\n  # Second\n  - name: b\n    path: ./b\n    # inside b\n\n  # Third\n  - name: c\n    path:   ./c\n# tail\n",
    );
    expect(await removeWorkerFromConfig(file, "b")).toEqual({ changed: true });
    expect(await saved()).toBe(
      "# head\nworkers:\n  # All of them\n  - name: a # first\n    path: ./a\n\n  # Third\n  - name: c\n    path:   ./c\n# tail\n",
    );
    await removeWorkerFromConfig(file, "a");
    await removeWorkerFromConfig(file, "c");
    expect(await saved()).toBe("# head\nworkers: []\n  # All of them\n\n  # Third\n# tail\n");
  });

  it("takes away what was added, byte for byte", async () => {
    const before = "# head\nengine: {drain_ms: 5}\nworkers:\n  - name: a\n    path: ./a # here\n\n# tail\n";
    await save(before);
    await addWorkerToConfig(file, math, { comment: "Multiplies" });
    await removeWorkerFromConfig(file, "math");
    expect(await saved()).toBe(before);
  });

  it("finds a module by any of its names, and all its entries", async () => {
    await save(
      "modules:\n  - class: modules::state::StateModule\nworkers: [{name: state}, {name: state, path: ./mine}]\n",
    );
    expect(await removeWorkerFromConfig(file, "svc-state")).toEqual({ changed: true });
    expect(entryLists(await saved())).toEqual([
      { key: "workers", entries: [{ name: "state", path: "./mine" }] },
      { key: "modules", entries: [] },
    ]);
  });

  it("does nothing when there is no such entry", async () => {
    await save("workers: []\n");
    expect(await removeWorkerFromConfig(file, "math")).toEqual({ changed: false });
    expect(await removeWorkerFromConfig(join(folder, "none.yaml"), "math")).toEqual({ changed: false });
  });
});

describe("writing", () => {
  it("keeps the file's mode, and a symbolic link a link", async () => {
    const real = join(folder, "real.yaml");
    await writeFile(real, "workers: []\n");
    await chmod(real, 0o640);
    await symlink(real, file);
    await addWorkerToConfig(file, state);
    expect((await stat(real)).mode & 0o777).toBe(0o640);
    expect(await readFile(real, "utf8")).toBe("workers:\n  - name: svc-state\n");
    expect(await saved()).toBe("workers:\n  - name: svc-state\n");
  });

  it("leaves the file as it was, and no temporary one, when a step fails", async () => {
    await save("workers: []\n");
    await mkdir(`${file}.bak`);
    await expect(addWorkerToConfig(file, state)).rejects.toMatchObject({ code: "not_written" });
    expect(await saved()).toBe("workers: []\n");
    expect((await readdir(folder)).sort()).toEqual([".svc", "config.yaml", "config.yaml.bak"]);
  });

  it("removes what a killed edit left behind, and nothing else", async () => {
    await save("workers: []\n");
    const left = [".config.yaml", ".config.yaml.bak", ".other.yaml"].map(
      (name) => `${name}.00000000-0000-4000-8000-000000000000.tmp`,
    );
    for (const name of left) await writeFile(join(folder, name), "workers: [half");
    expect(await addWorkerToConfig(file, state)).toEqual({ changed: true });
    expect((await readdir(folder)).sort()).toEqual([left[2], ".svc", "config.yaml", "config.yaml.bak"]);
  });

  it("times out while another process holds the lock", async () => {
    const lock = await lockFile(lockFileOf(file), { signal: AbortSignal.timeout(5_000) });
    await expect(withEditLock(file, () => Promise.resolve("entered"), 60)).rejects.toMatchObject({ code: "locked" });
    lock.release();
    expect(await withEditLock(file, () => Promise.resolve("entered"))).toBe("entered");
  });

  it("retries when another program saves the file in between, and fails after the last attempt", async () => {
    await save("workers: []\n");
    let saves = 0;
    const result = await editConfigText(file, (text) => {
      saves += 1;
      if (saves === 1) writeFileSync(file, "# theirs\nworkers: []\n");
      return `${text}# ours\n`;
    });
    expect(result).toEqual({ changed: true });
    expect(await saved()).toBe("# theirs\nworkers: []\n# ours\n");
    const restless = editConfigText(file, (text) => {
      writeFileSync(file, `${text}# theirs again\n`);
      return `${text}# ours again\n`;
    });
    await expect(restless).rejects.toMatchObject({ code: "changed_meanwhile" });
    expect(await saved()).not.toContain("# ours again");
  });

  it("loses none of many concurrent edits", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `worker-${index}`);
    await Promise.all(names.map((name) => addWorkerToConfig(file, { name, path: `./${name}` })));
    const [list] = entryLists(await saved());
    expect(list?.entries.map((entry) => (entry as { name: string }).name).sort()).toEqual([...names].sort());
    await Promise.all(names.map((name) => removeWorkerFromConfig(file, name)));
    expect(await saved()).toBe("workers: []\n");
  });
});

describe("any list", () => {
  const name = fc.stringMatching(/^[a-z]{1,8}$/);
  const comment = fc.constantFrom("", "# note", "# - name: svc-http", "# key: value");
  const entryLines = fc
    .tuple(name, comment, comment, fc.boolean())
    .map(([path, above, inside, gap]) => ({ path, above, inside, gap }));

  it("keeps every other line and every comment when an entry is added and removed", () => {
    fc.assert(
      fc.property(
        fc.array(entryLines, { maxLength: 5 }),
        fc.constantFrom(0, 1, 2, 4),
        fc.boolean(),
        (items, indent, tail) => {
          const pad = " ".repeat(indent);
          const lines = items.flatMap(({ path, above, inside, gap }, index) => [
            ...(gap ? [""] : []),
            ...(above === "" ? [] : [pad + above]),
            `${pad}- name: n${index}`,
            `${pad}  path: ./${path}`,
            ...(inside === "" ? [] : [`${pad}  ${inside}`]),
          ]);
          const text = [
            items.length === 0 ? "workers: []" : "workers:",
            ...lines,
            ...(tail ? ["", "# tail", "engine:", "  drain_ms: 1"] : []),
            "",
          ].join("\n");
          const added = withEntry(text, { name: "new", path: "./new" }, { comment: undefined });
          if (added === undefined) throw new Error("not added");
          const kept = added.split("\n").filter((line) => line.trim() !== "" && !/name: new|path: \.\/new$/.test(line));
          expect(kept).toEqual(
            text
              .replace("workers: []", "workers:")
              .split("\n")
              .filter((line) => line.trim() !== "" && !/path: \.\/new$/.test(line)),
          );
          const removed = withoutEntries(added, (entry) => (entry as { name: string }).name === "new");
          expect(removed && entryLists(removed)[0]?.entries.length).toBe(items.length);
        },
      ),
    );
  });
});
