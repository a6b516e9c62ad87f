import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { npmPublishArgs, publish, publishProblems, twineArgs } from "./publish.mjs";
import { StepFailure } from "./steps.mjs";

const READY = {
  version: "1.2.3",
  status: "",
  tags: ["v1.2.3"],
  repository: "https://git.example/svc",
  unpublishedReadmes: [],
  env: { ACTIONS_ID_TOKEN_REQUEST_URL: "https://ci.example", NODE_AUTH_TOKEN: "n", TWINE_PASSWORD: "p" },
};

describe("publishProblems", () => {
  it("accepts a clean tree on a version tag, in a CI with credentials", () => {
    expect(publishProblems(READY)).toEqual([]);
    expect(
      publishProblems({
        ...READY,
        env: { ...READY.env, ACTIONS_ID_TOKEN_REQUEST_URL: undefined, SIGSTORE_ID_TOKEN: "t" },
      }),
    ).toEqual([]);
  });

  it.each([
    ["changed files", { status: " M README.md\n?? new.txt" }, "The working tree has changes: README.md, new.txt."],
    ["no tag", { tags: [""] }, "The commit has no tag v1.2.3."],
    ["the tag of another version", { tags: ["v1.2.2"] }, "The commit has no tag v1.2.3."],
    ["no repository", { repository: undefined }, "package.json names no `repository`."],
    [
      "a README for users without the registry",
      { unpublishedReadmes: ["python/README.md"] },
      "python/README.md says that the package is not on its registry.",
    ],
    ["no CI", { env: { ...READY.env, ACTIONS_ID_TOKEN_REQUEST_URL: undefined } }, "npm cannot attest here"],
    ["no token of npm", { env: { ...READY.env, NODE_AUTH_TOKEN: "" } }, "NODE_AUTH_TOKEN is not set."],
    ["no token of PyPI", { env: { ...READY.env, TWINE_PASSWORD: undefined } }, "TWINE_PASSWORD is not set."],
  ])("reports %s", (_, change, expected) => {
    expect(publishProblems({ ...READY, ...change })).toEqual([expect.stringContaining(expected)]);
  });
});

describe("npmPublishArgs", () => {
  it("gives a pre-release a tag that nobody gets by default", () => {
    expect(npmPublishArgs("a.tgz", "1.2.3").join(" ")).toBe(
      "publish a.tgz --access public --provenance --tag latest --registry https://registry.npmjs.org/",
    );
    expect(npmPublishArgs("a.tgz", "1.3.0-beta.1")).toContain("next");
  });
});

describe("publish", () => {
  const DATA = Buffer.from("content");
  const INTEGRITY = `sha512-${createHash("sha512").update(DATA).digest("base64")}`;
  const PACKAGES = {
    version: "1.2.3",
    npmPackages: ["engine", "cli"].map((name) => ({ name, path: `${name}.tgz`, data: DATA })),
    pythonFiles: ["svc.whl"],
  };

  /** Records the commands. `published`: integrity by `name@version` on the registry. */
  function registries(published) {
    const commands = [];
    return {
      commands,
      note: () => {},
      async npm(args) {
        if (args[0] === "view") {
          const integrity = published[args[1]];
          if (integrity === undefined)
            throw new StepFailure("npm ended with status 1", { output: ["npm error code E404"] });
          return { stdout: `${JSON.stringify(integrity)}\n` };
        }
        commands.push(`npm ${args.slice(0, 2).join(" ")}`);
        return { stdout: "" };
      },
      async python(args) {
        commands.push(`python ${args.join(" ")}`);
      },
    };
  }

  it("publishes the packages in their order, then those of PyPI", async () => {
    const run = registries({});
    await publish(PACKAGES, run);
    expect(run.commands).toEqual([
      "npm publish engine.tgz",
      "npm publish cli.tgz",
      `python ${twineArgs(["svc.whl"]).join(" ")}`,
    ]);
  });

  it("continues a release that failed: skips what is published", async () => {
    const run = registries({ "engine@1.2.3": INTEGRITY });
    await publish(PACKAGES, run);
    expect(run.commands[0]).toBe("npm publish cli.tgz");
  });

  it("publishes nothing if a registry has another content under this version", async () => {
    const run = registries({ "cli@1.2.3": "sha512-other" });
    await expect(publish(PACKAGES, run)).rejects.toThrow("cli@1.2.3 is published with another content");
    expect(run.commands).toEqual([]);
  });

  it("publishes nothing if the registry does not respond", async () => {
    const run = {
      ...registries({}),
      npm: () => Promise.reject(new StepFailure("npm ended", { output: ["ETIMEDOUT"] })),
    };
    await expect(publish(PACKAGES, run)).rejects.toThrow("npm ended");
  });
});
