import { elementTexts, memberTexts, Payload } from "@svc-runtime/protocol";

/**
 * The part of a result that published clients get: a whole value, members of an object, or elements of an array. A
 * published client is a connection that declared none of svc's own features (see `directory.ts`).
 */
type Shape = typeof WHOLE | Members | readonly [Shape];
interface Members {
  readonly [name: string]: Shape;
}

const WHOLE = "whole";

/**
 * Returns the shape of an object. `names` are the members to copy unchanged, separated by spaces. `inner` has the
 * members of which only a part is copied, with their shapes.
 */
function members(names: string, inner: Members = {}): Members {
  return { ...Object.fromEntries(names.split(" ").map((name) => [name, WHOLE])), ...inner };
}

const WRITTEN = members("old_value new_value");
const UPDATED = members("old_value new_value errors");
const DISCARDED = members("queue message_id redriven");
const SPAN = members(
  "trace_id span_id parent_span_id name start_time_unix_nano end_time_unix_nano status status_description service_name attributes instrumentation_scope_name instrumentation_scope_version flags pending",
  {
    events: [members("name timestamp_unix_nano attributes")],
    links: [members("trace_id span_id attributes")],
  },
);
const TREE: Record<string, Shape> = { ...SPAN };
TREE.children = [TREE];
const LOG = members(
  "timestamp_unix_nano observed_timestamp_unix_nano severity_number severity_text body attributes trace_id span_id resource service_name instrumentation_scope_name instrumentation_scope_version",
);
const AGGREGATED = members("name bucket_start_ns bucket_end_ns count sum min max avg percentiles");
const COMPONENT = members("status details");

/**
 * Published shapes of the results of built-in functions, by function id. A function is listed only if its result has
 * members that the published protocol does not have.
 */
const RESULTS: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ["state::set", WRITTEN],
  ["state::update", UPDATED],
  ["stream::set", WRITTEN],
  ["stream::update", UPDATED],
  ["stream::delete", members("old_value")],
  ["svc::queue::discard_message", DISCARDED],
  ["iii::queue::discard_message", DISCARDED],
  ["engine::queue::dlq_messages", [members("id payload error failed_at retries size_bytes")]],
  ["engine::traces::list", members("total offset limit", { spans: [SPAN] })],
  ["engine::traces::tree", { roots: [TREE] }],
  [
    "engine::traces::group_by",
    {
      groups: [members("value label trace_ids span_count first_seen_ms last_seen_ms duration_ms error_count")],
    },
  ],
  [
    "engine::metrics::list",
    members("sdk_metrics timestamp query", {
      engine_metrics: members("workers performance", {
        invocations: members("total success error deferred by_function"),
      }),
      aggregated_metrics: [AGGREGATED],
    }),
  ],
  [
    "engine::rollups::list",
    members("level query timestamp", { rollups: [AGGREGATED], histogram_rollups: [AGGREGATED] }),
  ],
  ["engine::logs::list", members("total query timestamp", { logs: [LOG] })],
  ["engine::logs::clear", members("success message")],
  ["engine::sampling::rules", members("logs timestamp", { traces: members("default_ratio rules parent_based") })],
  [
    "engine::health::check",
    members("status timestamp version", {
      components: { otel: COMPONENT, metrics: COMPONENT, logs: COMPONENT, spans: COMPONENT },
    }),
  ],
  [
    "engine::alerts::list",
    members("firing_count timestamp message", {
      alerts: [members("name firing last_evaluated last_triggered current_value threshold operator")],
    }),
  ],
  [
    "engine::alerts::evaluate",
    members("evaluated timestamp", {
      triggered_alerts: [members("name metric value threshold operator firing timestamp")],
    }),
  ],
]);

/**
 * Returns the result of a built-in function for a published client, with the members of the published protocol only.
 * Values are copied as text, so that long numbers keep all digits.
 */
export function publishedResult(functionId: string, result: Payload): Payload {
  const shape = RESULTS.get(functionId);
  return shape === undefined ? result : Payload.fromText(cut(result.text(), shape));
}

function cut(json: string, shape: Shape): string {
  if (shape === WHOLE) return json;
  if (isListShape(shape)) {
    const [ofElement] = shape;
    return json.startsWith("[")
      ? `[${elementTexts(json)
          .map((element) => cut(element, ofElement))
          .join(",")}]`
      : json;
  }
  if (!json.startsWith("{")) return json;
  const texts = memberTexts(json);
  const kept: string[] = [];
  for (const name in shape) {
    const text = texts.get(name);
    if (text !== undefined) kept.push(`${JSON.stringify(name)}:${cut(text, shape[name] ?? WHOLE)}`);
  }
  return `{${kept.join(",")}}`;
}

function isListShape(shape: Exclude<Shape, typeof WHOLE>): shape is readonly [Shape] {
  return Array.isArray(shape);
}
