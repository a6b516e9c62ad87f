/** Protocol, host, port and database of a Redis URL: what may be logged. The user and the password are left out. */
export function printAddress(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
  } catch {
    return "the address in redis_url, which is no URL";
  }
}
