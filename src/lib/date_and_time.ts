/** A date and a time of day for people, in UTC. */
import { type Html, html } from "./html.ts";

export function dateAndTime(time: number): Html {
  const date = new Date(time);
  const words = date.toLocaleString("en-GB", {
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZone: "UTC",
  });
  return html`<time datetime="${date.toISOString()}">${words} UTC</time>`;
}
