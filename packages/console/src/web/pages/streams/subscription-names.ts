/** Returns the text `name:group` for the address. Colons and percent signs in the name are percent-encoded. */
export function subscriptionName(stream: string, group: string): string {
  return `${stream.replaceAll("%", "%25").replaceAll(":", "%3A")}:${group}`;
}

/** Parses `name:group`. Returns undefined if the text has another form. */
export function readSubscription(name: string): { readonly stream: string; readonly group: string } | undefined {
  const at = name.indexOf(":");
  if (at < 1 || at === name.length - 1) return undefined;
  return { stream: name.slice(0, at).replaceAll("%3A", ":").replaceAll("%25", "%"), group: name.slice(at + 1) };
}
