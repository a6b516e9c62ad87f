import { connect } from "@svc/sdk";
import { provideGreeter } from "./greeter.js";

provideGreeter(connect({ name: "greeter" }));
