/** The systems whose clients the bench can put at both ends of a call. */
export const CLIENT_KINDS = ["svc", "published", "moleculer-nats", "moleculer-tcp"] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

/** What a client process is told on its command line, as JSON. */
export interface ClientArguments {
  readonly kind: ClientKind;
  readonly role: "caller" | "callee";
  /** WebSocket address of the engine, or the address of the message broker; empty for brokerless transport. */
  readonly address: string;
  /** Folder in which other systems' packages were installed; empty for `svc`. */
  readonly packages: string;
  /** Ports of the two processes where they talk without a broker. */
  readonly ports: { readonly caller: number; readonly callee: number };
}

/** One process's end of a system: as caller it calls the function that the callee's process answers with its input. */
export interface Client {
  call(payload: unknown): Promise<unknown>;
}

/** Sent to a caller: measure one window. */
export interface WindowRequest {
  readonly concurrency: number;
  readonly payloadBytes: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  readonly observe: readonly number[];
}

export const ECHO_FUNCTION = "bench::echo";
