import type { Hello } from "../contract/api.ts";
import { type EngineHttp, modeByHttp } from "./engine-http.ts";
import { EngineLink } from "./engine-link.ts";
import { LiveTopics } from "./live-topics.ts";
import type { ConsoleOptions } from "./options.ts";
import { OwnTraces } from "./own-traces.ts";
import { PolledTopics } from "./polled-topics.ts";
import { Probes } from "./probes.ts";

export interface EngineClientParts {
  readonly options: ConsoleOptions;
  /** URLs of the engine. */
  readonly engine: Hello["engine"];
  readonly console: () => string;
  /** Token that is used for all calls and streams. */
  readonly token: string | undefined;
  /** If true, no calls are made and no streams are joined while the engine requires a login. */
  readonly needsDevelopment: boolean;
}

/** Connections to the engine with one token, and the objects that use these connections. */
export class EngineClient {
  readonly link: EngineLink;
  readonly topics: LiveTopics;
  /** Provides lists by polling. It is used instead of streams if the engine rejects them. */
  readonly polledTopics: PolledTopics;
  readonly http: EngineHttp;
  readonly probes: Probes;
  readonly traces: OwnTraces;

  constructor({ options, engine, console, token, needsDevelopment }: EngineClientParts) {
    const { bridge, realtime } = engine;
    this.link = new EngineLink({
      bridge,
      realtime,
      token,
      serviceName: options.otelServiceName,
      sendsSpans: options.otel,
      needsDevelopment,
      askMode: () => modeByHttp({ ...this.http, token: () => token }),
      beforeConnect: options.beforeConnect,
    });
    // The token is sent only while the bridge is connected. Otherwise it is not known which program listens on the
    // engine's ports, and which mode the engine has.
    const currentToken = (): string | undefined => (this.link.mayAct ? token : undefined);
    this.http = { host: options.engineHost, port: options.enginePort, url: engine.http, token: currentToken };
    this.topics = new LiveTopics(this.link.streams);
    this.polledTopics = new PolledTopics(async (functionId, input) =>
      JSON.parse(await this.link.call(functionId, JSON.stringify(input))),
    );
    this.traces = new OwnTraces(this.link.worker, { enabled: options.otel });
    this.probes = new Probes({ link: this.link, http: this.http, bridge, realtime, console });
  }

  async close(): Promise<void> {
    this.probes.close();
    this.polledTopics.close();
    await this.link.close();
  }
}
