/** What the list says of its rows: never "none" of a search that was not brought to its end. */
export function statusText(list: {
  readonly shown: number;
  readonly total: number;
  readonly totalIsLowerBound: boolean;
  readonly isCutShort: boolean;
  readonly isLoadingMore: boolean;
}): string {
  if (list.isLoadingMore) return list.isCutShort ? "Searching on" : "Loading more";
  if (!list.isCutShort) return `${list.shown} of ${list.total}${list.totalIsLowerBound ? " or more" : ""} traces`;
  const found = list.shown === 0 ? "No trace matches so far" : `${list.shown} ${list.shown === 1 ? "trace" : "traces"} so far`;
  return `${found}: the search took long and was stopped before its end`;
}
