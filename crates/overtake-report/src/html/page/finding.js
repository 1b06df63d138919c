// Everything about one finding.

/** Characters of a headline that are shown before somebody asks for the rest. */
const HEADLINE_SHOWN = 240;
/** Findings of the same cause that are listed. */
const VARIANTS_SHOWN = 20;

/** The page of a finding: its `node`, `toggle` to slide to the witness and back, `play`. `variants` have the same cause. */
function findingView(contents, sources, summary, details, position, variants) {
  const schedule = details.schedule && details.schedule.steps.length > 0 ? scheduleView(details.schedule, summary.verdict, summary.kind) : null;
  // The next run of a recorded program numbers its events otherwise.
  const numbered = !contents.runs[details.runs[0]]?.command.length;
  const node = element("article", { "aria-labelledby": "headline" },
    findingHead(contents, summary, details, position),
    confirmedView(details.confirmed),
    element("div", { class: "accesses" }, details.accesses.map((access, at) => accessView(contents, sources, access, at, numbered))),
    explanation(summary, details),
    schedule?.node ?? noSchedule(),
    variantsView(contents, variants),
    element("div", { class: "background" }, details.memory && memoryView(contents, details.memory), details.accesses.map((access, at) => threadView(contents, access, at))));
  return { node, toggle: () => schedule?.toggle(), play: () => schedule?.play() };
}

function findingHead(contents, summary, details, position) {
  const noun = summary.kind === "race" ? "race" : "time";
  const several = summary.count > 1 && (details.observed > 0 && details.observed < summary.count
    ? `${counted(summary.count, noun)} between these places, ${grouped(details.observed)} of them observed`
    : `${counted(summary.count, noun)} between these places`);
  const facts = [
    several,
    summary.detectors.length > 0 && `found by ${summary.detectors.join(", ")}`,
    contents.runs.length > 1 && `in ${grouped(details.runs.length)} of ${counted(contents.runs.length, "run")}`,
    element("a", { class: "fingerprint", href: `#${summary.fingerprint}`, title: "A link to this finding" }, summary.fingerprint),
  ];
  return element("header", { class: `finding-head ${summary.verdict}` },
    element("p", { class: "verdict" }, verdictSign(summary.verdict), element("strong", {}, capitalised(summary.title)),
      wasTriaged(contents) && statusChip(summary.status),
      element("span", { class: "position" }, position)),
    headlineView(summary.headline),
    element("p", { class: "meaning" }, meaningOf(summary, details)),
    statusReason(summary.status),
    details.notes.map((note) => element("p", { class: "reason" }, prose(note))),
    element("p", { class: "facts" }, joined(facts, " · ")));
}

/** What the verdict means; a misuse is what its title says. Only a schedule with a witness was checked. */
function meaningOf({ kind, verdict }, { schedule }) {
  if (kind === "misuse") return "";
  if (kind !== "deadlock") return VERDICTS[verdict].meaning;
  const wasChecked = verdict === "predicted" && schedule && schedule.witness.length > 0;
  return wasChecked ? `${VERDICTS[verdict].deadlock} The reordering was replayed and checked.` : VERDICTS[verdict].deadlock;
}

/** What came out when the program ran again. */
function confirmedView(confirmed) {
  if (!confirmed) return null;
  return element("section", { class: "confirmed" },
    element("h3", {}, "Confirmed"),
    element("p", {}, `The threads met in ${grouped(confirmed.met)} of ${counted(confirmed.runs, "run")}`,
      confirmed.order.length > 0 && `, ${confirmed.order.map(letterOf).join(" before ")}`, ".", confirmed.outcome && ` Then: ${confirmed.outcome}.`),
    confirmed.seen && element("p", {}, `${capitalised(confirmed.seen)}.`),
    (confirmed.stands ?? []).map((stand) => element("details", { class: "aside" },
      element("summary", {}, `${stand.thread} stood before its ${stand.operation} of ${stand.operation.includes("acquire") ? "the lock" : counted(stand.bytes, "byte")} at ${stand.address}`),
      stackView(stand.stack.map((frame) => ({ own: true, ...frame })), { label: `Call stack of ${stand.thread}` }))),
    confirmed.repeat && element("p", {}, "Again: ", element("code", {}, confirmed.repeat)));
}

/** Other findings with the same cause. */
function variantsView(contents, variants) {
  if (variants.length === 0) return null;
  const row = (finding) => element("li", {}, element("a", { href: `#${finding.fingerprint}` }, `${capitalised(finding.verdict)}: ${placesOf(contents, finding)}`));
  return element("section", { class: "variants" },
    element("h3", {}, `${counted(variants.length, "more place")} with the same cause`),
    element("ul", {}, variants.slice(0, VARIANTS_SHOWN).map(row)),
    variants.length > VARIANTS_SHOWN && element("p", { class: "hint" }, `and ${grouped(variants.length - VARIANTS_SHOWN)} more in the list`));
}

/** Longer headlines are cut, and shown whole on demand: names of templates may have thousands of characters. */
function headlineView(headline) {
  const heading = element("h2", { id: "headline" }, shortened(headline, HEADLINE_SHOWN));
  if (headline.length <= HEADLINE_SHOWN) return heading;
  const whole = element("button", {
    type: "button", class: "quiet",
    click: () => { heading.textContent = visible(headline); whole.remove(); },
  }, "Show the whole headline");
  return [heading, whole];
}

/** Whether anything but new races is possible; where it is not, saying that a race is new says nothing. */
function wasTriaged(contents) {
  return contents.triage.baseline !== "" || contents.findings.some((finding) => finding.status.is !== "new");
}

function statusChip(status) {
  return element("span", { class: `status ${status.is}` }, STATUS_TITLES[status.is]);
}

function statusReason(status) {
  if (status.is === "known") {
    const since = status.since ? `Known since ${status.since}` : "Known";
    return element("p", { class: "reason" }, status.reason ? `${since}: ${status.reason}` : `${since}.`);
  }
  return status.is === "suppressed" && element("p", { class: "reason" }, "Suppressed by ", element("code", {}, status.by));
}

function letterMark(at) {
  return element("span", { class: `letter-mark ${roleClass(at)}` }, letterOf(at));
}

/** With `numbered`, events are named by their numbers. */
function accessView(contents, sources, access, at, numbered) {
  const thread = contents.threads[access.thread];
  const frames = framesAt(contents, access.stack);
  const site = siteAt(contents, access.stack);
  const excerpt = element("div", { "aria-live": "polite" }, excerptView(sources, site));
  // Of a trace there is a place only, which the excerpt already names.
  const stack = (frames.length > 1 || site?.function) && stackView(frames, {
    sources, current: site, label: `Call stack of access ${letterOf(at)}`,
    onFrame: (frame) => excerpt.replaceChildren(excerptView(sources, frame)),
  });
  const size = access.bytes > 0 ? ` of ${counted(access.bytes, "byte")}` : "";
  const object = access.object ? ` of ${access.object}` : "";
  return element("section", { class: `access ${roleClass(at)}` },
    element("h3", {}, letterMark(at), element("span", {}, `${capitalised(access.operation)}${object}${size}`, element("small", {}, joined([`by ${threadTitle(thread)}`, numbered && `event ${grouped(access.event)}`], ", ")))),
    excerpt, stack, heldView(contents, access.held, numbered));
}

function heldView(contents, held, numbered) {
  if (held.length === 0) return element("p", { class: "held" }, "Holds no lock.");
  return element("div", { class: "held" }, element("p", {}, `Holds ${counted(held.length, "lock")}:`),
    element("ul", {}, held.map((lock) => element("li", {},
      element("code", {}, lock.name), lock.shared ? ", shared with others" : "", numbered && `, taken at event ${grouped(lock.event)}`,
      foldedStack(contents, lock.taken_at, `Where ${lock.name} was taken`)))));
}

function explanation({ kind }, details) {
  if (!details.why && !details.remedy) return null;
  const [why, remedy] = kind === "race" ? ["Why nothing orders them", "What would order them"] : ["Why it happens", "What to do"];
  return element("section", { class: "explanation" },
    details.why && [element("h3", {}, why), element("p", {}, prose(details.why))],
    details.remedy && [element("h3", {}, remedy), element("p", {}, prose(details.remedy))]);
}

function noSchedule() {
  return element("p", { class: "hint no-schedule" }, "There is no drawing of the schedule for this finding.");
}

const MEMORY_KINDS = {
  variable: "a variable of the trace", heap: "on the heap", global: "a global", stack: "on a stack", mapped: "mapped memory", unknown: "unknown memory",
};

function memoryView(contents, memory) {
  const facts = joined([
    MEMORY_KINDS[memory.kind] ?? memory.kind,
    memory.bytes > 0 && counted(memory.bytes, "byte"),
    memory.offset > 0 && `at offset ${grouped(memory.offset)}`,
  ], ", ").join("");
  const verb = memory.kind === "stack" ? "the stack of" : "allocated by";
  return element("section", {}, element("h3", {}, "Memory"),
    element("p", {}, element("code", {}, memory.name), facts && `, ${facts}`, memory.owner && `, ${verb} ${memory.owner}`,
      memory.freed && `, freed by ${memory.freed.by}`),
    foldedStack(contents, memory.allocated_at, "Where the memory was allocated"),
    memory.freed && foldedStack(contents, memory.freed.at, "Where the memory was freed"));
}

function originOf(thread) {
  if (thread.main) return "The first thread of its process";
  return thread.creator ? `Created by ${thread.creator}` : "Its creator is unknown";
}

function threadView(contents, access, at) {
  const thread = contents.threads[access.thread];
  return element("section", {}, element("h3", {}, letterMark(at), capitalised(threadTitle(thread))),
    element("p", {}, originOf(thread)),
    foldedStack(contents, thread.created_at, "Where the thread was created"));
}

