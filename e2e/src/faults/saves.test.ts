import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SavedProject, SOURCES } from "../support/save-load.ts";
import { say } from "../support/say.ts";
import { amount, figure } from "./runs.ts";

const SAVES = amount(200, 5);

const project = new SavedProject();

beforeAll(async () => {
  project.write("node", { ...SOURCES.node, text: SOURCES.node.text(0) });
  await project.start(["node"]);
});

afterAll(() => project.close());

describe("a worker whose source is saved again and again under load", () => {
  it("answers every call and request (P-5)", async () => {
    const onSaved = (version: number): void => {
      if (version % 20 === 0) say(`${version} saves`);
    };
    const { made, failures } = await project.saveUnderLoad("node", { saves: SAVES, onSaved });
    figure(`${SAVES} saves of a worker under load`, `${failures.length} of ${made} calls and requests failed`);
    expect(failures).toEqual([]);
  });
});
