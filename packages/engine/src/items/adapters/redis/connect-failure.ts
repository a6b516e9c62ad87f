/** Says why a Redis server cannot be used, and what to do. The address is without credentials. */
export function explainConnectFailure(address: string, error: Error): string {
  const reason = reasonOf(error);
  return `cannot use Redis at ${address}: ${reason}; ${adviceFor(reason)}`;
}

function reasonOf(error: Error): string {
  // A name with several addresses fails with one error for each.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(String).join(", ");
  return error.message || error.name;
}

function adviceFor(reason: string): string {
  if (/^(NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH)|Ready check failed: NOAUTH/.test(reason))
    return "give the user and the password in redis_url: redis://USER:PASSWORD@HOST:PORT";
  if (/NOPERM/.test(reason)) return "give its user the right to run scripts and to read and write keys with the key_prefix (ACL SETUSER)";
  if (/ENOTFOUND|EAI_AGAIN/.test(reason)) return "correct the host in redis_url";
  if (/certificate|SSL|TLS|wrong version number|EPROTO/i.test(reason))
    return "rediss:// is for servers with TLS whose certificate the machine trusts (NODE_EXTRA_CA_CERTS names further authorities)";
  return "start the server, or set redis_url of the adapter to one that runs";
}
