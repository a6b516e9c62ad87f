/**
 * Returns JSON text of exactly `bytes` bytes (at least 32): an object of records with strings, numbers, booleans and
 * lists, like real payloads. One long string would make parsing look cheaper than it is.
 */
export function payloadOfBytes(bytes: number): string {
  if (bytes < 32) throw new RangeError(`a payload needs at least 32 bytes, not ${bytes}`);
  const records: string[] = [];
  const opening = '{"items":[';
  const closing = (fill: number): string => `],"fill":"${"x".repeat(fill)}"}`;
  let used = opening.length + closing(0).length;
  for (let index = 0; ; index++) {
    const record = recordText(index);
    const separator = records.length === 0 ? 0 : 1;
    if (used + separator + record.length > bytes) break;
    records.push(record);
    used += separator + record.length;
  }
  return `${opening}${records.join(",")}${closing(bytes - used)}`;
}

/** Returns a payload of the same size with another value. */
export function otherThan(payload: string): string {
  return payload.replace('{"items":[', '{"ITEMS":[');
}

function recordText(index: number): string {
  return `{"id":${index},"name":"item ${index}","price":${index * 3}.25,"tags":["a","bc"],"ok":${index % 3 === 0}}`;
}
