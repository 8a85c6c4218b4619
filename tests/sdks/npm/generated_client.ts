// Use the types that openapi-typescript generates: post an event, read it back, and get figures. It prints the three as
// JSON.

import createClient from "openapi-fetch";
import type { components, paths } from "./api";

type Draft = components["schemas"]["DecisionRecordedDraft"];
type Review = components["schemas"]["DecisionReviewedDraft"];

async function main() {
  const client = createClient<paths>({ baseUrl: process.argv[2] });
  const decision: Draft = {
    type: "decision.recorded.v2",
    data: { decision: "Use one file", decision_id: "generated", confidence: 0.8 },
  };
  const posted = await client.POST("/events", { body: decision });
  if (posted.data === undefined || !("position" in posted.data)) throw new Error(JSON.stringify(posted.error));
  const review: Review = { type: "decision.reviewed.v1", data: { decision_id: "generated", outcome: "success" } };
  await client.POST("/events", { body: review });
  const position: number = posted.data.position;
  const read = await client.GET("/events/{position}", { params: { path: { position } } });
  const figures = await client.GET("/calibration", { params: { query: { min_decisions: 1 } } });
  console.log(JSON.stringify([position, read.data, figures.data]));
}

main();
