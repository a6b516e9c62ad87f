import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ConsoleOptions } from "./options.ts";
import { optionsOf } from "./running-console.test-support.ts";

const settingOf = (options: ConsoleOptions, flag: string) => options.settings.find((setting) => setting.flag === flag);

/** A setting has the flag's own value: `--no-otel` is false if traces are sent. */
const shown = (flag: string, value: unknown): unknown => (flag.startsWith("--no-") ? value !== true : value);

describe("the flags of the specification", () => {
  const flags: readonly (readonly [
    flag: string,
    args: readonly string[],
    member: keyof ConsoleOptions,
    byDefault: unknown,
    given: unknown,
  ])[] = [
    ["--port", ["--port", "4000"], "port", 3113, 4000],
    ["--port", ["-p", "4001"], "port", 3113, 4001],
    ["--host", ["--host", "127.0.0.2"], "host", "127.0.0.1", "127.0.0.2"],
    ["--engine-host", ["--engine-host", "engine.local"], "engineHost", "127.0.0.1", "engine.local"],
    ["--engine-port", ["--engine-port", "4011"], "enginePort", 3111, 4011],
    ["--ws-port", ["--ws-port", "4012"], "wsPort", 3112, 4012],
    ["--bridge-port", ["--bridge-port", "4013"], "bridgePort", 49134, 4013],
    ["--no-otel", ["--no-otel"], "otel", true, false],
    ["--otel-service-name", ["--otel-service-name", "mine"], "otelServiceName", "svc-console", "mine"],
    ["--enable-flow", ["--enable-flow"], "enableFlow", false, true],
    ["--read-only", ["--read-only"], "readOnly", false, true],
  ];

  it.each(flags)("%s %j is accepted and has its default", (flag, args, member, byDefault, given) => {
    const without = optionsOf([]);
    expect(without[member]).toEqual(byDefault);
    expect(settingOf(without, flag)).toMatchObject({
      value: shown(flag, byDefault),
      source: "default",
      default: shown(flag, byDefault),
    });
    const withFlag = optionsOf(args);
    expect(withFlag[member]).toEqual(given);
    expect(settingOf(withFlag, flag)).toMatchObject({
      value: shown(flag, given),
      source: "flag",
      default: shown(flag, byDefault),
    });
  });

  it.each([["--port"], ["--engine-port"], ["--ws-port"], ["--bridge-port"]])("%s rejects invalid ports", (flag) => {
    for (const text of ["70000", "-1", "http", ""]) expect(() => optionsOf([flag, text])).toThrow(/0 to 65535/);
  });

  it("--engine-host and --otel-service-name reject invalid values", () => {
    for (const text of ["http://x", "a b", "x:1/", "", "u@h"])
      expect(() => optionsOf(["--engine-host", text])).toThrow(/--engine-host/);
    for (const text of ["x".repeat(257), "a\u0000"])
      expect(() => optionsOf([], { OTEL_SERVICE_NAME: text })).toThrow(/OTEL_SERVICE_NAME/);
    expect(optionsOf(["--engine-host", "::1"]).engineHost).toBe("::1");
  });

  it("rejects an unknown flag", () => {
    expect(() => optionsOf(["--prot", "1"])).toThrow(/unknown option/);
  });
});

describe("the variables of the specification", () => {
  const variables: readonly (readonly [
    name: string,
    text: string,
    member: keyof ConsoleOptions,
    value: unknown,
    flag: string,
    args: readonly string[],
    flagged: unknown,
  ])[] = [
    ["OTEL_DISABLED", "true", "otel", false, "--no-otel", ["--no-otel"], false],
    ["OTEL_DISABLED", "off", "otel", true, "--no-otel", ["--no-otel"], false],
    [
      "OTEL_SERVICE_NAME",
      "ours",
      "otelServiceName",
      "ours",
      "--otel-service-name",
      ["--otel-service-name", "mine"],
      "mine",
    ],
    ["SVC_ENABLE_FLOW", "1", "enableFlow", true, "--enable-flow", ["--enable-flow"], true],
    ["SVC_ENABLE_FLOW", "no", "enableFlow", false, "--enable-flow", ["--enable-flow"], true],
  ];

  it.each(variables)("%s=%s is used unless the flag is given", (name, text, member, value, flag, args, flagged) => {
    const options = optionsOf([], { [name]: text });
    expect(options[member]).toEqual(value);
    expect(settingOf(options, flag)).toMatchObject({ value: shown(flag, value), source: "env", env: name });
    const both = optionsOf(args, { [name]: text });
    expect(both[member]).toEqual(flagged);
    expect(settingOf(both, flag)).toMatchObject({ value: shown(flag, flagged), source: "flag" });
  });

  it.each(["1", "true", "yes", "on", " TRUE "])("read %j as yes", (text) => {
    expect(optionsOf([], { SVC_ENABLE_FLOW: text }).enableFlow).toBe(true);
  });

  it("are ignored if they are empty", () => {
    const options = optionsOf([], { SVC_ENABLE_FLOW: "", OTEL_DISABLED: " ", OTEL_SERVICE_NAME: " " });
    expect([options.enableFlow, options.otel, options.otelServiceName]).toEqual([false, true, "svc-console"]);
    expect(settingOf(options, "--enable-flow")).toMatchObject({ source: "default" });
  });

  it("are rejected with their name if they are neither yes nor no", () => {
    expect(() => optionsOf([], { OTEL_DISABLED: "perhaps" })).toThrow(/OTEL_DISABLED is "perhaps"/);
  });
});

describe("the token", () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "svc-console-token-"));
    writeFileSync(join(dir, "token"), "0123456789abcdef-file\n");
    writeFileSync(join(dir, "short"), "short\n");
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it("is from the file, then from SVC_TOKEN, otherwise undefined", () => {
    const file = join(dir, "token");
    expect(optionsOf([]).token).toBeUndefined();
    expect(optionsOf([], { SVC_TOKEN: " " }).token).toBeUndefined();
    expect(optionsOf([], { SVC_TOKEN: "0123456789abcdef-env\n" }).token).toBe("0123456789abcdef-env");
    expect(optionsOf(["--token-file", file], { SVC_TOKEN: "0123456789abcdef-env" }).token).toBe(
      "0123456789abcdef-file",
    );
  });

  it("is not shown on the page, but its source is", () => {
    const options = optionsOf(["--token-file", join(dir, "token")]);
    expect(JSON.stringify(options.settings)).not.toContain("0123456789abcdef");
    expect(settingOf(options, "--token-file")).toMatchObject({ source: "flag", value: join(dir, "token") });
    expect(settingOf(optionsOf([], { SVC_TOKEN: "0123456789abcdef-env" }), "--token-file")).toMatchObject({
      source: "env",
      value: "SVC_TOKEN",
    });
  });

  it("is rejected if its file is missing or invalid", () => {
    expect(() => optionsOf(["--token-file", join(dir, "nope")])).toThrow(/nope cannot be read/);
    expect(() => optionsOf(["--token-file", join(dir, "short")])).toThrow(/contains no valid token/);
  });
});

it("accepts several host names, but no addresses with scheme or port", () => {
  expect(optionsOf(["--allowed-host", "Console.Example.org", "--allowed-host", "other"]).allowedHosts).toEqual([
    "console.example.org",
    "other",
  ]);
  expect(() => optionsOf(["--allowed-host", "http://x"])).toThrow(/without scheme and port/);
});
