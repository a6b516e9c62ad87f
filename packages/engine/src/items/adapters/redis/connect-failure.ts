/**
 * Returns a user message that says why a Redis server cannot be used, and what to do. `address` must not contain
 * credentials.
 */
export function explainConnectFailure(address: string, error: Error): string {
  const reason = reasonOf(error);
  return `cannot use Redis at ${address}: ${reason}; ${adviceFor(reason)}`;
}

function reasonOf(error: Error): string {
  // A host name with several addresses fails with one error per address.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(String).join(", ");
  return error.message || error.name;
}

function adviceFor(reason: string): string {
  if (/^(NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH)|Ready check failed: NOAUTH/.test(reason))
    return "add the user and password to redis_url: redis://USER:PASSWORD@HOST:PORT";
  if (/NOPERM/.test(reason))
    return "allow the user to run scripts and to read and write keys with the key_prefix (ACL SETUSER)";
  if (/ENOTFOUND|EAI_AGAIN/.test(reason)) return "correct the host in redis_url";
  if (/certificate|SSL|TLS|wrong version number|EPROTO/i.test(reason))
    return "rediss:// needs a server with TLS and a trusted certificate (add certificate authorities with NODE_EXTRA_CA_CERTS)";
  return "start the server, or change redis_url of the adapter";
}
