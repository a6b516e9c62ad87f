import { Payload } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { metadataWithJob } from "./call-metadata.ts";

const job = { queue: "q", id: "7", attempt: 2 };
const text = (metadata: Payload | undefined): string | undefined => metadata?.text();

describe("what a client that does not know jobs is told of one", () => {
  it("stands in its metadata, beside what is there (gap 10)", () => {
    expect(metadataWithJob(undefined, job)?.value()).toEqual({ svc: { job } });
    expect(metadataWithJob(Payload.null, job)?.value()).toEqual({ svc: { job } });
    expect(metadataWithJob(Payload.fromValue({ a: 1, svc: { topic: "t" } }), job)?.value()).toEqual({
      a: 1,
      svc: { topic: "t", job },
    });
  });

  it("is nothing where the metadata is of another shape, or there is no job", () => {
    for (const own of ["text", [1], 7, { svc: "mine" }])
      expect(metadataWithJob(Payload.fromValue(own), job)?.value()).toEqual(own);
    expect(text(metadataWithJob(undefined, undefined))).toBeUndefined();
  });
});
