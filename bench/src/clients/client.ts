/** The systems whose clients the bench can use at both ends of a call. */
export const CLIENT_KINDS = ["svc", "published", "moleculer-nats", "moleculer-tcp"] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

/** Options of a client process, passed as JSON on its command line. */
export interface ClientArguments {
  readonly kind: ClientKind;
  readonly role: "caller" | "callee";
  /** WebSocket address of the engine, or address of the message broker. Empty for transport without a broker. */
  readonly address: string;
  /** Folder with the installed packages of other systems. Empty for `svc`. */
  readonly packages: string;
  /** Ports of the two processes, if they connect without a broker. */
  readonly ports: { readonly caller: number; readonly callee: number };
}

/** A client of a system in one process, as caller or as callee. The caller calls an echo function of the callee. */
export interface Client {
  call(payload: unknown): Promise<unknown>;
}

/** Message that tells a caller process to measure one window. */
export interface WindowRequest {
  readonly concurrency: number;
  readonly payloadBytes: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  readonly observe: readonly number[];
}

export const ECHO_FUNCTION = "bench::echo";
