// What was examined, and what triage made of it.

const KEYS = [
  ["j k ↓ ↑", "next and previous finding"],
  ["Home End", "first and last finding"],
  ["/", "search"],
  ["Esc", "back to the list"],
  ["n", "new findings only, or all"],
  ["w", "slide to the witness and back"],
  ["p", "play it, or stop"],
  ["o", "about this run"],
  ["t", "dark or light"],
  ["?", "this list"],
];

/** One line on the whole report: how many findings, of which kind. */
function headlineOf(contents) {
  const { findings } = contents;
  const noun = nounOf(findings);
  const count = (is) => findings.filter(is).length;
  const fresh = count((finding) => finding.status.is === "new");
  if (findings.length === 0) {
    const sampled = contents.runs.every((run) => run.detectors.every((detector) => detector.sampled));
    return sampled ? "No races found in a sample" : "No races";
  }
  if (fresh === findings.length) return counted(fresh, noun);
  return fresh === 0 ? `No new ${noun}, ${grouped(findings.length)} known` : `${counted(fresh, `new ${noun}`)} of ${grouped(findings.length)}`;
}

/** What was run: commands if there are any, files otherwise. */
function subjectOf(contents) {
  const subjects = [...new Set(contents.runs.map((run) => (run.command.length > 0 ? run.command.join(" ") : run.trace)))].filter(Boolean);
  if (subjects.length === 0) return "";
  const more = subjects.length > 1 ? ` and ${grouped(subjects.length - 1)} more` : "";
  return `${shortened(subjects[0], 120)}${more}`;
}

function overviewView(contents) {
  const { triage } = contents;
  return element("article", { class: "overview", "aria-labelledby": "headline" },
    element("h2", { id: "headline" }, headlineOf(contents)),
    contents.findings.length > 0 ? verdictTable(contents.findings) : element("p", {}, "Nothing was found. What that means is said below, detector by detector."),
    triageView(triage),
    contents.runs.map((run, at) => runView(run, at, contents)),
    element("p", { class: "hint" }, `Made by Overtake ${contents.version}.`));
}

function verdictTable(findings) {
  const states = Object.keys(STATUS_TITLES);
  const count = (verdict, state) => findings.filter((finding) => finding.verdict === verdict && finding.status.is === state).length;
  const row = ([verdict, { meaning }]) => element("tr", {},
    element("th", { scope: "row" }, verdictSign(verdict), capitalised(verdict)),
    states.map((state) => element("td", { class: "figure" }, grouped(count(verdict, state)))),
    element("td", { class: "meaning" }, meaning));
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, element("td", {}), states.map((state) => element("th", { scope: "col", class: "figure" }, STATUS_TITLES[state])), element("td", {}))),
    element("tbody", {}, Object.entries(VERDICTS).filter(([verdict]) => verdict !== "possible" || findings.some((finding) => finding.verdict === verdict)).map(row))));
}

function triageView(triage) {
  const unused = triage.unused_suppressions;
  return [
    triage.baseline && element("p", {}, "Compared with the baseline ", element("code", {}, triage.baseline), "."),
    triage.fixed.length > 0 && [
      element("h3", {}, `${counted(triage.fixed.length, "finding")} of the baseline not found`),
      element("p", { class: "hint" }, "Fixed, or not exercised by this run."),
      element("ul", { class: "fixed-races" }, triage.fixed.map((race) => element("li", {}, element("span", { class: "status fixed" }, "Fixed"), race.headline, " ", element("code", {}, race.fingerprint)))),
    ],
    unused.length > 0 && [
      element("h3", {}, "Suppressions that matched nothing"),
      element("ul", {}, unused.map((suppression) => element("li", {}, element("code", {}, suppression)))),
    ],
  ];
}

/** How many findings of the list a detector has, and in how many pairs of events it saw them. */
function countsOf(detector, contents) {
  const found = contents.findings.filter((finding) => finding.detectors.includes(detector.name));
  const findings = counted(found.length, nounOf(contents.findings));
  return detector.races > found.length ? `${findings} of the list, in ${counted(detector.races, "pair")} of accesses` : findings;
}

function runView(run, at, contents) {
  const facts = [
    ["Command", run.command.length > 0 && element("code", {}, run.command.join(" "))],
    ["Process", run.process > 0 && String(run.process)],
    ["Trace", run.trace && element("code", {}, run.trace)],
    ["Format", run.format],
    ["Size", joined([counted(run.events, "event"), counted(run.threads, "thread"), counted(run.locks, "lock"), counted(run.variables, "variable")], ", ").join("")],
  ].filter(([, value]) => value);
  return element("section", {}, element("h3", {}, contents.runs.length > 1 ? `Run ${at + 1}` : "The run"),
    element("dl", {}, facts.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    run.notes.length > 0 && element("ul", { class: "notes" }, run.notes.map((note) => element("li", {}, note))),
    run.detectors.map((detector) => element("div", { class: "detector" },
      element("p", {}, element("strong", {}, detector.name), `: ${countsOf(detector, contents)}. `, element("span", { class: "meaning" }, `Its promise: ${detector.promise}.`)),
      detector.remarks.length > 0 && element("ul", {}, detector.remarks.map((remark) => element("li", {}, remark))))));
}

/** Fills the dialog that lists the keys. */
function fillKeys(dialog) {
  dialog.replaceChildren(
    element("h2", { id: "keys-title" }, "Keys"),
    element("dl", {}, KEYS.map(([keys, does]) => [element("dt", {}, keys.split(" ").map((key) => element("kbd", {}, key))), element("dd", {}, does)])),
    element("button", { type: "button", click: () => dialog.close() }, "Close"));
}

