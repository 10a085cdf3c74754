/** Articles by relevance, from the Knowledge API: published ones that the person may read. */
import * as z from "zod";
import { type Result, success } from "../lib/result.ts";
import type { DeskParts } from "./desk_parts.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { RecordPage, RecordSearch } from "./desk_port.ts";
import type { Person } from "./person_cache.ts";
import { htmlToText, oneLine } from "./plain_text.ts";
import { parseWords, select } from "./selection.ts";
import { linkTo } from "./shown_record.ts";
import { askJson } from "./calls.ts";

const article = z.object({
  id: z.string().regex(/^(kb_knowledge:)?[0-9a-f]{32}$/),
  number: z.string().nullish(),
  title: z.string().nullish(),
  snippet: z.string().nullish(),
});
const articles = z.object({ articles: z.array(article) });

/** Answers by words; conditions narrow them. Fails as `not_found` or `rejected` where an instance has no such API. */
export async function searchArticles(
  parts: DeskParts,
  search: RecordSearch & { readonly words: string; readonly offset: number },
  person: Person,
): Promise<Result<RecordPage, ServicenowFailure>> {
  const { where } = search;
  const words = parseWords(search.words);
  if (!words.ok) return words;
  const narrowed = await select(parts, { table: "kb_knowledge", ...(where === undefined ? {} : { where }) }, person);
  if (!narrowed.ok) return narrowed;
  const { query: filter, understood } = narrowed.value;
  const parsed = await askJson(parts.callAs, person, {
    path: "/api/sn_km_api/knowledge/articles",
    query: {
      // Words alone: an instance puts them into an encoded query.
      query: words.value.join(" ").replaceAll("^", " ").trim(),
      language: "all",
      limit: String(search.limit),
      offset: String(search.offset),
      ...(filter === "" ? {} : { filter }),
    },
  }, articles);
  if (!parsed.ok) return parsed;
  const found = parsed.value.articles.slice(0, search.limit);
  return success({
    table: "kb_knowledge",
    understood: [`with the words ${search.words.trim().slice(0, 200)}`, ...understood],
    total: null,
    cursor: found.length < search.limit ? null : String(search.offset + found.length),
    records: found.map(({ id, number, title, snippet }) => {
      const sysId = id.replace(/^kb_knowledge:/, "");
      return {
        table: "kb_knowledge",
        sysId,
        name: oneLine(number ?? sysId),
        namedBy: ["number"],
        link: linkTo(parts.instance.origin, "kb_knowledge", sysId),
        fields: [
          { name: "short_description", value: oneLine(title ?? "") },
          { name: "snippet", value: htmlToText(snippet ?? "") },
        ],
      };
    }),
  });
}
