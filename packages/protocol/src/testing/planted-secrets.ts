/** Names whose value is always a secret, in the spellings of configs, headers and environments. */
export const SECRET_NAMED: readonly string[] = [
  "password",
  "db_password",
  "PGPASSWORD",
  "passwd",
  "passphrase",
  "clientSecret",
  "token",
  "SVC_TOKEN",
  "access-token",
  "authorization",
  "Proxy-Authorization",
  "set-cookie",
  "x-api-key",
  "apiKey",
  "AWS_SECRET_ACCESS_KEY",
  "privateKey",
  "signing_key",
  "credentials",
  "session_id",
];

/** Values that contain the secret in a form that is recognisable under any name. */
export function selfEvidentForms(secret: string): readonly unknown[] {
  return [
    `redis://ada:${secret}@db.example:6379/0`,
    `redis://${secret}@db.example`,
    `redis://ada:p/w#${secret}@db.example`,
    `redis://ada:p@${secret}@db.example`,
    `//ada:${secret}@db.example`,
    `https://api.example/x?n=1&api_key=${secret}#top`,
    `https://api.example/x?access%5Ftoken=${secret}`,
    `authorization: Bearer ${secret}`,
    `authorization=Bearer ${secret}`,
    `x-team: ops, x-api-key: ${secret}`,
    `x-team=ops,authorization=Basic ${secret}`,
    `Cookie: theme=dark; session=${secret}`,
    `Cookie: theme="dark"; it's=1; session=${secret}`,
    `Authorization: Digest username="ada", response="${secret}"`,
    `curl -H 'Authorization: Digest username="ada", response="${secret}"' http://localhost`,
    `token="a\\"${secret}"`,
    `redis://ada:p@ss/w#${secret}@db.example:6379/0`,
    `Bearer ${secret}`,
    `DB_PASSWORD=${secret} node worker.mjs`,
    `curl -H "authorization: Bearer ${secret}" http://localhost`,
    `Host=db;Password=${secret};Port=1`,
    `{"user":"ada","password":"${secret}"}`,
    `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----`,
    [`authorization: Bearer ${secret}`],
    [`authorization=Bearer ${secret}`, "accept=*/*"],
    [["authorization", `Bearer ${secret}`]],
    { [`authorization: Bearer ${secret}`]: null },
    ...SECRET_NAMED.flatMap((name) => [{ [name]: secret }, { [name]: Number(secret) }, { [name]: [{ deep: secret }] }]),
    { nested: [{ headers: { authorization: `Bearer ${secret}` } }] },
    { headers: [`x-api-key: ${secret}`] },
  ];
}

/**
 * Values that contain a secret because they are settings: all headers, the paths of webhooks, and keys in the
 * environment.
 */
export function settingForms(secret: string): readonly Readonly<Record<string, unknown>>[] {
  return [
    { headers: { "x-honeycomb-team": secret } },
    { headers: { "x-honeycomb-team": Number(secret) } },
    { headers: `x-honeycomb-team=${secret}` },
    { headers: [`x-honeycomb-team: ${secret}`] },
    { headers: [{ name: "x-team", value: secret }] },
    { OTEL_EXPORTER_OTLP_HEADERS: `x-team=${secret}` },
    { SLACK_WEBHOOK_URL: `https://hooks.example/services/${secret}` },
    { action: { type: "webhook", url: `https://hooks.example/services/${secret}` } },
    { env: { STRIPE_KEY: secret } },
    { stripe_key: secret },
    { jwtKey: secret },
    { hmac: { key: secret } },
    { env: { STRIPE_KEY: Number(secret) } },
    { url: `https://maps.example/x?key=${secret}` },
  ];
}
