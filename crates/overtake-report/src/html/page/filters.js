// Which findings are shown.

/** Prepares the findings for filtering: what each is searched by, which files and threads it is in. */
function prepareFilters(contents) {
  const known = contents.findings.map((finding) => {
    const threads = finding.threads.map((thread) => contents.threads[thread].name);
    const text = [finding.headline, finding.fingerprint, finding.memory, ...threads, ...finding.locks];
    const files = finding.stacks.map((stack) => fileOf(siteAt(contents, stack) ?? {}));
    return { text: text.join("\n").toLowerCase(), files: new Set(files), threads: new Set(threads) };
  });
  const frameTexts = contents.frames.map((frame) => `${frame.function ?? ""}\n${placeOf(frame)}`.toLowerCase());
  return { contents, known, frameTexts, files: tally(known, "files"), threads: tally(known, "threads") };
}

/** How many findings have each value, by name. */
function tally(known, property) {
  const counts = new Map();
  for (const facts of known) {
    for (const value of facts[property]) if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const order = new Intl.Collator("en", { numeric: true });
  return [...counts].sort(([left], [right]) => order.compare(left, right));
}

/**
 * Positions of the findings that pass: all words of the search occur, the verdict is wanted, file, thread and status fit.
 * `filter` is `{ search, verdicts: Set, file, thread, newOnly }`.
 */
function passing(prepared, filter) {
  const { findings } = prepared.contents;
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  const hasWords = words.map((word) => findingsWith(prepared, word));
  const passes = (finding, at) => filter.verdicts.has(finding.verdict)
    && (!filter.newOnly || finding.status.is === "new")
    && (!filter.file || prepared.known[at].files.has(filter.file))
    && (!filter.thread || prepared.known[at].threads.has(filter.thread))
    && hasWords.every((has) => has(finding, at));
  return [...findings.keys()].filter((at) => passes(findings[at], at));
}

/** Items in an order that people choose: as the report has them, by place, by memory, or the most frequent first. */
function inOrder(contents, items, order) {
  const { findings } = contents;
  const words = new Intl.Collator("en", { numeric: true });
  const orders = {
    severity: () => 0,
    place: (left, right) => words.compare(placesOf(contents, left), placesOf(contents, right)),
    memory: (left, right) => words.compare(left.memory, right.memory),
    count: (left, right) => right.count - left.count,
  };
  return [...items].sort((left, right) => orders[order](findings[left], findings[right]) || left - right);
}

/** Whether a finding has `word`. Frames are searched once, not once for each stack that has them. */
function findingsWith(prepared, word) {
  const frameHas = prepared.frameTexts.map((text) => text.includes(word));
  const stackHas = prepared.contents.stacks.map((stack) => stack.some((frame) => frameHas[frame]));
  return (finding, at) => prepared.known[at].text.includes(word) || finding.stacks.some((stack) => stackHas[stack]);
}

