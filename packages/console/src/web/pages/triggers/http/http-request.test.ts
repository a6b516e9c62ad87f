import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { echoServer } from "../../../lib/testing/echo-server.ts";
import { bodySchemaOf, curlOf } from "./http-request.ts";

const run = promisify(execFile);
const base = echoServer();

const NASTY =
  String.raw`{"text":"it's $HOME ~id~ \"quoted\" \\ !x @file & ; %","big":9007199254740993,"line":"a\nb","ü":null}`.replaceAll(
    "~",
    "`",
  );

it("the curl command of the HTTP tester sends path, query and body unchanged through a shell", async () => {
  const request = {
    method: "PUT" as const,
    path: "/a%20b?x=1&x=it%27s",
    headers: [["x-note", "it's $HOME"]] as const,
    body: NASTY,
  };
  const { stdout } = await run("sh", ["-c", curlOf(request, base())]);
  expect(stdout).toContain(`PUT /a%20b?x=1&x=it%27s\n${NASTY}`);
});

it("completes the body by the schema of the route's function", () => {
  const body = { $ref: "#/$defs/order" };
  const $defs = { order: { type: "object" } };
  expect(bodySchemaOf({ properties: { body }, $defs })).toEqual({ ...body, $defs });
  expect(bodySchemaOf({ properties: { body: { type: "string" } } })).toEqual({ type: "string" });
  expect([bodySchemaOf(null), bodySchemaOf(true), bodySchemaOf({ type: "object" })]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
