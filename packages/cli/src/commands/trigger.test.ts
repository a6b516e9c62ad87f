import { describe, expect, it } from "vitest";
import { EXIT } from "../exit-codes.ts";
import { checkedJson } from "../functions/json-input.ts";
import { run } from "../main.ts";
import { recordedShell } from "../shell.test-support.ts";
import { formatResult } from "../terminal/json-format.ts";

describe("the result of a call", () => {
  it("is one compact line", () => {
    expect(formatResult('{ "c": 5,\n "list": [1, 2]}', undefined)).toBe('{"c":5,"list":[1,2]}');
  });

  it("is indented on a terminal that is narrower than the line, and only there", () => {
    const wide = { text: "x".repeat(40) };
    const json = JSON.stringify(wide);

    expect(formatResult(json, 20)).toBe(JSON.stringify(wide, null, 2));
    expect(formatResult(json, 200)).toBe(json);
  });
});

describe("a payload that is not JSON", () => {
  it("is reported with the position of the error and advice on quoting", () => {
    expect(() => checkedJson("{a: 1}", { noun: "payload", example: "--payload='{}'" })).toThrow(
      expect.objectContaining({
        exitCode: EXIT.usage,
        message: 'The payload is not JSON: at position 1, where a key in double quotes, or "}" is expected.',
        advice: expect.arrayContaining(["  {a: 1}", "   ^", expect.stringContaining("single quotes")]),
      }),
    );
  });

  it("ends the command with 2 before it connects to an engine", async () => {
    const shell = recordedShell();

    expect(await run(["trigger", "--function-id=math::add", "--payload={a"], shell)).toBe(EXIT.usage);
    expect(shell.written.notes).toContain("not JSON");
    expect(shell.written.out).toBe("");
  });
});

describe("a usage error of svc trigger", () => {
  it.each([
    ["no function id", ["trigger"], "svc trigger math::add a=2 b=3"],
    ["a field where the id belongs", ["trigger", "a=2"], "not a function id"],
    [
      "the payload without its option",
      ["trigger", "math::add", '{"a":1}'],
      `svc trigger math::add --payload='{"a":1}'`,
    ],
    ["the same with --function-id", ["trigger", "--function-id=math::add", '{"a":1}'], `--payload='{"a":1}'`],
    ["two payloads", ["trigger", "a", "b=1", "--payload={}"], "given twice"],
    ["two payload options", ["trigger", "a", "--payload-file=f", "--payload={}"], "give one of them"],
    ["one field twice", ["trigger", "a", "b=1", "b=2"], "b is given twice"],
    ["two ways of not waiting", ["trigger", "a", "--void", "--enqueue=q"], "cannot be used together"],
    ["a trace of a call without waiting", ["trigger", "a", "--void", "--trace"], "do not wait"],
    ["metadata that is not JSON", ["trigger", "a", "--metadata={a}"], "The metadata is not JSON"],
    ["metadata of a job", ["trigger", "a", "--metadata={}", "--enqueue=q"], "no --metadata"],
    [
      "a payload that the shell split",
      ["trigger", "--function-id=math::add", "--payload", "a:1", "b:2"],
      "in single quotes",
    ],
    [
      "a payload that the shell split, as one word each",
      ["trigger", "--function-id=a", "--payload=a:1", "--payload=b:2"],
      "in single quotes",
    ],
    ["an empty function id", ["trigger", "--function-id="], "empty"],
    ["a timeout of 0", ["trigger", "--function-id=a", "--timeout-ms=0"], "whole milliseconds"],
    ["a timeout with a unit", ["trigger", "--function-id=a", "--timeout-ms=5s"], "whole milliseconds"],
    ["an invalid address", ["trigger", "--function-id=a", "--url=box"], "not an engine address"],
    ["an unknown option", ["trigger", "--function-id=a", "--paylod", "{}"], "--payload"],
  ])("exits with 2 for %s", async (_case, args, hint) => {
    const shell = recordedShell();

    expect(await run(args, shell)).toBe(EXIT.usage);
    expect(shell.written.notes).toContain(hint);
  });
});

it("exits with 3 if no engine is reachable, with the address and how to start one", async () => {
  const shell = recordedShell();

  expect(await run(["trigger", "--function-id=math::add", "--url=ws://127.0.0.1:1"], shell)).toBe(EXIT.noEngine);
  expect(shell.written.notes).toContain("ws://127.0.0.1:1");
  expect(shell.written.notes).toContain("svc dev");
  expect(shell.written.notes).not.toContain("svc create");
});
