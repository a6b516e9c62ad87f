/**
 * Returns the condition of a trigger on one line: `POST /orders`, `0 3 * * * (Europe/Berlin)`, `orders.created`. For an
 * unknown type, returns the config as JSON.
 */
export function conditionOf(type: string, config: unknown): string {
  const known = isRecord(config) ? KNOWN[type]?.(config) : undefined;
  return known ?? (config === null || config === undefined || isEmpty(config) ? "" : JSON.stringify(config));
}

/** Returns the `description` of a trigger's config, or an empty string. */
export function descriptionOf(config: unknown): string {
  return isRecord(config) ? (text(config.description) ?? "") : "";
}

type Config = Readonly<Record<string, unknown>>;

const KNOWN: Readonly<Record<string, (config: Config) => string | undefined>> = {
  http: ({ http_method, api_path }) => `${text(http_method) ?? "GET"} /${(text(api_path) ?? "").replace(/^\//, "")}`,
  cron: ({ expression, timezone }) =>
    joined(text(expression), text(timezone) === undefined ? undefined : `(${text(timezone)})`),
  event: topic,
  subscribe: topic,
  "durable:subscriber": topic,
  queue: ({ queue }) => text(queue),
  state,
  "state:created": state,
  "state:updated": state,
  "state:deleted": state,
  stream: streamPlace,
  "stream:join": streamPlace,
  "stream:leave": streamPlace,
};

function topic(config: Config): string | undefined {
  return text(config.topic) ?? text(config.event) ?? text(config.event_name);
}

function state({ scope, key, prefix }: Config): string {
  return `${text(scope) ?? "*"}/${text(key) ?? `${text(prefix) ?? ""}*`}`;
}

function streamPlace({ stream_name, group_id, item_id }: Config): string {
  const places = [stream_name, group_id, item_id].map((place) => text(place) ?? "*");
  while (places.length > 1 && places.at(-1) === "*") places.pop();
  return places.join("/");
}

function joined(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(" ");
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isRecord(value: unknown): value is Config {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}
