/** Name of the stream of a log. */
export function logStreamName(cluster: string, store: string): string {
  return `svc_${cluster}_${store}`;
}

/** Name of the stream of a log's snapshots. */
export function seedStreamName(cluster: string, store: string): string {
  return `${logStreamName(cluster, store)}_snapshots`;
}
