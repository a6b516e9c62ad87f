import { connect } from "@svc-runtime/sdk";
import { provideGreeter } from "./greeter.js";

provideGreeter(connect({ name: "greeter" }));
