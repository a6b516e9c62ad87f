import { CallError } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { CALLS_REFUSED, ENGINE_RSS } from "../builtin-metrics.ts";
import { maySee, type SeenSeries } from "./inputs.ts";

const accessTo = (functions: readonly string[]) => ({
  callRefusal: (id: string) =>
    functions.includes(id) ? undefined : new CallError("FORBIDDEN", `${id} is not allowed`),
});
const own = (id: string): boolean => id === "own";
const sentBy = (workerId: string | undefined): SeenSeries => ({
  labels: {},
  origin: { service: "shop", workerId, scopeName: undefined },
});

describe("a restricted caller", () => {
  it.each<[string, SeenSeries]>([
    ["of a function that it may not call", { labels: { function_id: "bank::pay" } }],
    ["of a worker that it may not see", { labels: { worker_id: "other" } }],
    ["of queues, whose names contain ids of functions", { labels: { queue: "topic:orders>bank::pay" } }],
    ["of streams", { labels: { stream: "payments" } }],
    ["that a worker sent that it may not see", sentBy("other")],
    ["that a process sent that is no worker", sentBy(undefined)],
    ["that is a sum over everybody", { info: CALLS_REFUSED, labels: { code: "FORBIDDEN" } }],
  ])("sees no metric %s", (_what, series) => {
    expect(maySee(series, accessTo(["engine::rollups::list", "math::add"]), own)).toBe(false);
    expect(maySee(series, undefined, own)).toBe(true);
  });

  it.each<[string, SeenSeries]>([
    ["of a function that it may call", { labels: { function_id: "math::add" } }],
    ["of queues, if it may list them", { labels: { queue: "emails" } }],
    ["of streams, if it may list them", { labels: { stream: "payments" } }],
    ["that its own worker sent", sentBy("own")],
    ["of the engine's process", { info: ENGINE_RSS, labels: {} }],
  ])("sees metrics %s", (_what, series) => {
    expect(maySee(series, accessTo(["math::add", "queue::list", "stream::list_all"]), own)).toBe(true);
  });
});
