/**
 * What the registry has of each file tool beside its description, schemas and work: also what callers write for the tool and
 * its parameters, the names of tools that models know better.
 */
import { hiddenNames } from "./list_walk.ts";
import { changingHints, type Meaning, otherNames, readingHints, saysNothing } from "../../mcp/mod.ts";

type Meanings = Readonly<Record<string, Meaning>>;

const file =
  "path file filename file_path filepath absolute_path target_file relative_path path_in_project uri file_uri";
const directory = `${file} directory dir folder dir_path directory_path folder_path target_directory ` +
  "relative_workspace_path search_directory search_path root base_path sub_directory_relative_path directory_to_search";
const guard = "if_match version expected_version etag sha256 expected_hash";
/** `file` without the parameter's own name. */
const but = (own: string, names = file): string => names.split(" ").filter((name) => name !== own).join(" ");

/** Says nothing where it is this. */
const only = (...values: readonly unknown[]) => ({
  values: Object.fromEntries(values.map((value) => [String(value), undefined])),
});

/** The same, and the call that does what is asked for with any other value. */
const unless = (instead: string, ...values: readonly unknown[]): Meaning => ({ ...only(...values), instead });

/** What says how a call is made or why, and not what it does. */
const beside = (names: string): Meanings => Object.fromEntries(names.split(" ").map((name) => [name, saysNothing]));

/** Names of what no parameter does, and the call that does it. */
const instead = (names: string, words: string): Meanings =>
  Object.fromEntries(names.split(" ").map((name) => [name, { instead: words }]));

const encodings = otherNames({
  ...{
    latin1: "iso-8859-1 iso8859-1 l1",
    "windows-1252": "cp1252 ansi",
    "windows-1250": "cp1250",
    "windows-1251": "cp1251",
  },
  ...{ shift_jis: "sjis cp932 ms932 windows-31j", gbk: "gb2312 gb18030 cp936", "euc-kr": "cp949 uhc", big5: "cp950" },
  ...{ "utf-8": "utf-8-sig utf8-bom utf8bom", "utf-16le": "ucs-2 ucs2", ibm866: "cp866" },
});

/** claude-code Read, Codex read_file, Gemini CLI, Cursor, Roo, the text editor tool, Desktop Commander, @modelcontextprotocol/server-filesystem. */
const readNames: Meanings = {
  ...otherNames({
    filename: but("filename"),
    files: "paths filenames file_paths",
    against: "compare compare_to compare_with diff diff_with other_file",
    end_line: "end to_line line_end end_line_one_indexed_inclusive",
    limit: "head length num_lines max_lines line_count max_lines_count",
    tail: "last tail_lines last_lines",
    numbered: "-n line_numbers show_line_numbers",
    start_line: "offset line start from_line line_start start_line_one_indexed",
    view_range: "lines line_range line_ranges range read_range",
  }),
  start_line: { to: "start_line", values: { 0: 1 }, as: "from_end" }, // some count from 0
  view_range: { to: "start_line", as: "lines" },
  end_line: { to: "end_line", values: { "-1": undefined } },
  encoding: { to: "encoding", values: { ...encodings, auto: undefined, detect: undefined, ascii: undefined } },
  files: { first: "filename" },
  ...instead("pages page page_number", "name pages behind the path: a.pdf:p3, or a.pdf:p3-5"),
  should_read_entire_file: only(true, false),
  command: only("view"),
  mode: only("slice"),
  ...{ is_url: only(false), truncate_mode: only("start"), ...beside("max_answer_chars") },
};

/** claude-code Write, Gemini CLI, Desktop Commander, the text editor tool. */
const writeNames: Meanings = {
  ...otherNames({ filename: but("filename"), if_version: guard }),
  ...otherNames({ content: "text contents file_text data body code_content file_content new_content" }),
  mode: { to: "mode", values: otherNames({ overwrite: "rewrite replace write w", append: "a", create: "x" }) },
  overwrite: { to: "mode", values: { true: "overwrite", false: "create" } },
  append: { to: "mode", values: { true: "append", false: undefined } },
  files: { first: "filename", sets: { mode: "overwrite" } },
  ...{ empty_file: only(false), ...beside("description complexity instruction modified_by_user ai_proposed_content") },
  ...{ create_directories: only(true), create_parents: only(true), create_dirs: only(true), parents: only(true) },
  ...{ encoding: only("utf-8", "utf8"), command: only("create") },
};

const wholeFiles = "file_write writes a whole file, or with mode append at its end";
const ownCase = "file_edit finds text in its case; file_search shows it";

/** claude-code Edit and MultiEdit, Gemini CLI replace, Desktop Commander, the text editor tool. */
const editNames: Meanings = {
  ...otherNames({
    path: `${but("path")} paths files filenames file_paths`,
    old_text: "old old_string old_str find search search_text needle target_content",
    new_text: "new new_string new_str replace replacement replace_text repl replacement_content",
    replace_all: "all global replace_all_occurrences allow_multiple allow_multiple_occurrences",
    if_version: guard,
    edits: "changes replacements operations replacement_chunks",
    dry_run: "preview",
    expected_replacements: "expected_occurrences expected_count",
    regex: "is_regex use_regex",
  }),
  ...instead(
    "insert_line insert_at_line insert_text insert_after insert_before insert_mode",
    "to insert, give a line that is there as old_text, and that line with the new ones as new_text",
  ),
  ...instead(
    "start_line end_line line_number line view_range range",
    "an edit finds its place by text: give the lines themselves as old_text, as file_read shows them",
  ),
  ...instead("patch diff code_edit input", "give each place as old_text and new_text, several of them in edits"),
  ...instead("content file_text", wholeFiles),
  mode: unless(wholeFiles, "literal", "edit"),
  path: { to: "edits", form: "list" }, // the same texts in each file
  regex: unless("file_edit finds exact text; file_search with regex shows it", false),
  case_sensitive: unless(ownCase, true),
  ignore_case: unless(ownCase, false),
  command: unless(
    "file_read views, file_write creates, file_edit replaces and inserts: old_text and new_text say what",
    "str_replace",
  ),
  ...beside("instruction instructions explanation description display_description complexity code_markdown_language"), // Windsurf, Zed, Gemini CLI
};

const sorts = otherNames({
  modified: "mtime time date modified_time modified_at newest last_modified",
  size: "largest bytes",
  name: "filename path alphabetical",
  "modified asc": "oldest",
  "size asc": "smallest +size",
  "name desc": "-name",
  "name asc": "+name",
});
const walking: Meanings = {
  respect_git_ignore: { to: "include_ignored", as: "opposite" },
  ...otherNames({
    pattern: "glob glob_pattern file_pattern file_mask file_glob name_pattern include includes include_pattern " +
      "paths_include_glob",
    exclude: "exclude_pattern exclude_patterns excludes exclude_glob paths_exclude_glob ignore ignore_patterns",
    include_ignored: "no_ignore include_ignored_files add_excluded",
    show_hidden: "hidden include_hidden include_hidden_files show_hidden_files",
    path: `${but("path", directory)} paths files directories dirs folders target_directories`,
  }),
  ...{ skip_ignored_files: { to: "include_ignored", as: "opposite" }, ignore_globs: "exclude" },
  ...beside("timeout timeout_ms max_answer_chars full_path early_termination"),
  path: {
    form: "several",
    instead: "one a call; call once for each, or leave it out and give a pattern such as {a,a/**,b,b/**}",
  },
  ...instead(
    "ext exts suffix extension extensions file_extension file_extensions file_type file_types",
    "give pattern, such as *.ts or *.{ts,tsx}",
  ),
  show_hidden: { to: "exclude", values: { true: undefined, 1: undefined, false: [hiddenNames], 0: [hiddenNames] } },
};
/** claude-code Grep has 0 for all. */
const limits = (most: number): Meanings => ({
  ...otherNames({ limit: "max_results max_matches max_entries max num_results page_size max_count top" }),
  head_limit: { to: "limit", values: { 0: most } },
});

const furtherPages = "give the cursor of the answer before, or a larger limit";

/** claude-code Glob, Codex and Gemini CLI list_directory, @modelcontextprotocol/server-filesystem. */
const listNames = (mostEntries: number, mostLevels: number): Meanings => ({
  ...walking,
  ...limits(mostEntries),
  ...otherNames({
    depth: "max_depth maxdepth levels",
    sort: "sort_by order_by",
    modified_after: "modified_since since newer_than",
    limit: "file_count_limit",
    name: "name_keyword",
    type: "kind only_dirs directories_only dirs_only",
  }),
  sort: { to: "sort", values: sorts, as: "order" },
  ...otherNames({ order: "sort_order order_direction sort_direction direction", descending: "desc" }),
  descending: { to: "order", values: { true: "desc", false: "asc" } },
  ascending: { to: "order", values: { true: "asc", false: "desc" } },
  reverse: unless("give order, asc or desc", false),
  recursive: { to: "depth", values: { true: mostLevels, false: 1 } },
  ...instead("query search text name", "give pattern to find names, such as *part*; file_search finds text"),
  type: unless("give pattern */ for directories alone, else * for all", "any", "all", false),
  details: { to: "show", values: { true: "details", false: undefined } },
  ...{ detailed: "details", detail: "details", "-l": "details", case_sensitive: only(true) },
  offset: unless(furtherPages, 0, 1),
});

const modes = otherNames({ lines: "content matches", files: "files_with_matches files_only" });
/** What no glob has beside it: then `pattern` is what a line is searched for. */
const ofGrep =
  ("glob include includes type outputmode headlimit multiline isregex literal fixedstrings literalsearch " +
    "filepattern filemask includepattern namesonly contextlines invertmatch -i -n -o -v -w -A -B -C").split(" ");

const eitherOrEach = 'give query: "a|b" and regex: true for either, or all for lines with each';

/** claude-code Grep, Codex grep_files, Gemini CLI search_file_content, Cursor, Windsurf, Serena, JetBrains, ripgrep's own options. */
const searchNames = (mostHits: number): Meanings => ({
  ...walking,
  ...limits(mostHits),
  ...otherNames({
    query: "text search q needle keyword term search_text search_term search_query search_string",
    ignore_case: "-i case_insensitive",
    whole_word: "-w word whole_words match_whole_word word_regexp",
    regex: "-E is_regex is_regexp use_regex regexp",
    expression: "substring_pattern regex_pattern",
    limit: "total_max_matches max_usage_count",
    case_sensitive: "match_case",
    literal: "fixed_strings literal_search -F",
    "-C": "-A -B context_lines before_context after_context context_before context_after before after " +
      "context_lines_before context_lines_after lines_before lines_after",
    "-l": "files_only names_only",
    "-n": "line_numbers show_line_numbers",
    show: "output_mode",
    ...{ sort: "sort_by order_by newest_first", invert_match: "-v invert", multiline: "-U" },
  }),
  pattern: { to: "query", sets: { regex: true }, beside: ofGrep },
  regex: { to: "query", sets: { regex: true }, form: "text" },
  expression: { to: "query", sets: { regex: true } },
  ...{ case_sensitive: { to: "ignore_case", as: "opposite" }, literal: { to: "regex", as: "opposite" } },
  ...{ "-C": { to: "context", as: "largest" }, show: { to: "show", values: modes } },
  "-l": { to: "show", values: { true: "files", false: undefined } },
  "-c": { to: "show", values: { true: "count", false: undefined } },
  ...{ "-n": only(true, false), "-r": only(true), restrict_search_to_code_files: only(false) },
  "-o": unless("show: texts counts what matched, without the rest of the lines", false),
  match_per_line: { to: "show", values: { true: "lines", false: "files" } },
  search_type: unless("give pattern without query to find files by name", "content", "text"),
  ...instead("queries keywords terms patterns", eitherOrEach),
  query: { form: "several", instead: eitherOrEach },
  sort: unless("file_list with pattern and sort names the newest or largest files", false),
  invert_match: unless("give the text in without, for the lines that do not hold it", false),
  ...instead("lines line_range start_line end_line", "name lines behind the path: a.ts:10-50"),
  recursive: unless("give pattern, such as src/*, for a directory without those in it", true),
  multiline: unless("each line is searched separately: search for one, with context", false),
  offset: unless(furtherPages, 0),
  type: {
    to: "pattern",
    values: otherNames({
      ...{ "*.{js,jsx,mjs,cjs}": "js", "*.{ts,tsx,mts,cts}": "ts", "*.{py,pyi}": "py", "*.rs": "rust", "*.go": "go" },
      ...{ "*.{md,markdown,mdx}": "md", "*.json": "json", "*.{yaml,yml}": "yaml", "*.{html,htm}": "html" },
      ...{ "*.{c,h}": "c", "*.{cpp,cc,cxx,hpp,hh,h}": "cpp", "*.{sh,bash,zsh}": "sh", "*.java": "java" },
      ...{ "*.css": "css", "*.sql": "sql", "*.toml": "toml", "*.txt": "txt" },
    }),
  },
});

/** mv, cp, @modelcontextprotocol/server-filesystem. */
const moveNames: Meanings = {
  ...otherNames({
    path: `${but("path")} dir directory folder from source src old_path old_name source_path from_path`,
    destination: "to dest dst target new_path destination_path to_path target_path",
    copy: "keep_original",
    overwrite: "force",
    paths: "files sources file_paths",
    if_version: guard,
  }),
  // beside the file, as some mean it, or at the root
  ...instead("new_name rename_to new_filename", "give destination, the new path with its directory"),
  path: { to: "paths", form: "list" },
  recursive: only(true),
};

const deleteNames: Meanings = {
  ...otherNames({
    path: `${but("path", directory)} target`,
    paths: "files file_paths",
    recursive: "recurse -r -R -rf",
    if_version: guard,
  }),
  ...{ force: only(true, false), confirm: only(true) },
  path: { to: "paths", form: "list" },
};

const undoNames: Meanings = {
  ...otherNames({ change: "id change_id undo_id" }),
  last: { to: "change", values: { true: "last", false: undefined } },
};

/** What other servers and agents call the tools. */
const knownAs = {
  read: "cat get view open read head tail compare diff get_file_contents view_image read_media_file notebook_read",
  write: "write create append save touch create_or_update_file",
  edit: "edit replace patch insert str_replace search_replace apply_patch apply_diff edit_block notebook_edit " +
    "str_replace_editor str_replace_based_edit_tool text_editor",
  list: "list ls tree glob stat dir wc du exists find_by_name list_directory_with_sizes get_file_info file_info " +
    "list_allowed_directories",
  search: "grep ripgrep find search search_for_pattern codebase_search start_search",
  move: "mkdir mv cp rename move copy create_directory make_directory",
  delete: "rm unlink remove delete rmdir",
  undo: "undo_edit undo_change undo revert restore",
};

const frame = (tool: keyof typeof knownAs, title: string, scope: "files:read" | "files:write", aliases: Meanings) => {
  const annotations = { title, ...scope === "files:read" ? readingHints : changingHints };
  const listed = { name: `file_${tool}`, title, scopes: [scope], annotations };
  const view = tool === "list" || tool === "search" ? {} : { hasView: true as const };
  return { ...listed, aliases, knownAs: knownAs[tool], ...view };
};

/** By tool; `list` and `search` by what is the most of their numbers. */
export const toolFrames = {
  read: frame("read", "Read files", "files:read", readNames),
  write: frame("write", "Write files", "files:write", writeNames),
  edit: frame("edit", "Edit files", "files:write", editNames),
  list: (...most: Parameters<typeof listNames>) => frame("list", "List files", "files:read", listNames(...most)),
  search: (mostHits: number) => frame("search", "Search files", "files:read", searchNames(mostHits)),
  move: frame("move", "Move, rename, copy", "files:write", moveNames),
  delete: frame("delete", "Delete", "files:write", deleteNames),
  undo: frame("undo", "Undo", "files:write", undoNames),
};
