// The page: puts list, filters and pane together, and follows address, keys and printing.

const NARROW = matchMedia("(max-width: 860px)");

async function start() {
  const contents = await openParcel("contents");
  document.title = joined([headlineOf(contents), subjectOf(contents)], " · ").join("");
  byId("title").textContent = headlineOf(contents);
  byId("subtitle").textContent = visible(subjectOf(contents));
  document.body.append(arrowHeads());
  const prepared = prepareFilters(contents);
  const page = createPage(contents, prepared);
  createFilters(prepared, page);
  createTheme();
  createKeys(page);
  preparePrinting(contents, page.shown, page.displayed);
  addEventListener("hashchange", page.follow);
  page.filter();
  page.follow();
  document.body.classList.add("ready");
}

/** The list and the pane beside it. */
function createPage(contents, prepared) {
  const pane = byId("pane");
  const filter = unfiltered();
  const places = new Map(contents.findings.map((finding, at) => [finding.fingerprint, at]));
  let shown = [];
  let current = null;
  let displayed = null;
  const sizes = new Map();
  const list = createList(byId("list"), (item) => rowView(contents, contents.findings[item], filter.grouped ? sizes.get(contents.findings[item].cause) : 1), (item) => {
    visit(contents.findings[item].fingerprint);
  });

  function show(node) {
    pane.replaceChildren(backButton(), node);
    pane.scrollTop = 0;
  }

  /** Goes to an address within the page. Steps through the list do not fill the history, except where back leads to the list. */
  function visit(target) {
    const opens = NARROW.matches && !document.body.classList.contains("open");
    history[opens ? "pushState" : "replaceState"](null, "", `#${target}`);
    follow();
  }

  /** Shows what the address names: a finding, the overview, or at first the first finding. */
  function follow() {
    const target = location.hash.slice(1);
    document.body.classList.toggle("open", target !== "");
    if (places.has(target)) return display(places.get(target));
    if (target === "" && shown.length > 0) return display(shown[0]);
    current = displayed = null;
    list.mark(null);
    show(target === "" || target === "overview" ? overviewView(contents) : notFound(target));
  }

  async function display(item) {
    current = item;
    list.mark(item);
    const size = contents.findings_per_parcel;
    const [sources, parcel] = await Promise.all([openParcel("sources"), openParcel(`details-${Math.floor(item / size)}`)]);
    // Somebody may have gone on while the parcel was opened.
    if (current !== item) return;
    const summary = contents.findings[item];
    const details = parcel[item % size];
    const variants = contents.findings.filter((other) => other.cause === summary.cause && other !== summary);
    const view = findingView(contents, sources, summary, details, `${grouped(item + 1)} of ${grouped(contents.findings.length)}`, variants);
    displayed = { schedule: details.schedule, verdict: summary.verdict, toggle: view.toggle, play: view.play };
    show(view.node);
  }

  /** Shows what passes, in the chosen order; grouped, the first finding of each cause stands for all. */
  function applyFilter(change = {}) {
    Object.assign(filter, change);
    const found = inOrder(contents, passing(prepared, filter), filter.order);
    sizes.clear();
    for (const item of found) {
      const { cause } = contents.findings[item];
      sizes.set(cause, (sizes.get(cause) ?? 0) + 1);
    }
    const seen = new Set();
    shown = filter.grouped ? found.filter((item) => !seen.has(contents.findings[item].cause) && seen.add(contents.findings[item].cause)) : found;
    list.show(shown);
    const all = contents.findings.length;
    const noun = nounOf(contents.findings);
    const some = found.length === all ? counted(all, noun) : `${grouped(found.length)} of ${counted(all, noun)}`;
    byId("tally").textContent = filter.grouped && sizes.size < found.length ? `${some}, ${counted(sizes.size, "cause")}` : some;
    byId("clear").hidden = found.length === all;
    byId("no-hits").hidden = found.length > 0 || all === 0;
    byId("no-hits").textContent = filter.search ? visible(`Nothing matches “${shortened(filter.search, 60)}”${isNarrowed(filter) ? " with these filters" : ""}.`) : "Nothing passes these filters.";
  }

  return {
    list, filterState: filter, visit, follow, filter: applyFilter,
    shown: () => shown,
    displayed: () => displayed,
    /** To the list; where there is room for one of both only, away from the finding. */
    leave() {
      if (NARROW.matches && location.hash) location.hash = "";
      byId("list").focus();
    },
  };
}

function backButton() {
  return element("a", { class: "back", href: "#" }, "← All findings");
}

function notFound(target) {
  return element("article", {}, element("h2", {}, "No such finding"),
    element("p", {}, "No finding of this report has the fingerprint ", element("code", {}, shortened(target, 60)), ". It may be fixed, or of another run."));
}

/** A row of the list, which may stand for several findings of one cause. */
function rowView(contents, finding, size) {
  const quiet = finding.status.is === "new" ? "" : " quiet-row";
  return [
    verdictSign(finding.verdict),
    element("div", { class: `words${quiet}` },
      element("div", { class: "headline" }, shortened(finding.headline, 160)),
      element("div", { class: "where" },
        element("span", { class: `word ${finding.verdict}` }, finding.kind === "race" ? finding.verdict : `${finding.verdict} ${finding.kind}`),
        finding.confirmed && element("span", { class: "status confirmed-chip" }, "Confirmed"),
        finding.status.is !== "new" && statusChip(finding.status),
        element("span", { class: "places" }, placesOf(contents, finding)),
        size > 1 && element("span", { class: "count", title: "findings with this cause" }, `+${grouped(size - 1)}`),
        finding.count > 1 && element("span", { class: "count", title: "how often" }, `×${grouped(finding.count)}`))),
  ];
}

/** `a.c:4 ↔ b.c:5`. */
function placesOf(contents, finding) {
  const places = finding.stacks.map((stack) => lastOf(placeOf(siteAt(contents, stack) ?? {})) || "place unknown");
  return [...new Set(places)].join(" ↔ ");
}

function unfiltered() {
  return { search: "", verdicts: new Set(Object.keys(VERDICTS)), file: "", thread: "", newOnly: false, order: "severity", grouped: true };
}

/** Whether anything but the search leaves findings out. */
function isNarrowed(filter) {
  return Boolean(filter.file || filter.thread || filter.newOnly || filter.verdicts.size < Object.keys(VERDICTS).length);
}

/** Search, verdicts, file, thread, new only. */
function createFilters(prepared, page) {
  const { findings } = prepared.contents;
  byId("new-only").disabled = !wasTriaged(prepared.contents);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", () => {
    for (const button of byId("verdicts").children) button.setAttribute("aria-pressed", "true");
    page.filter(unfiltered());
  });
  byId("search").addEventListener("input", (event) => page.filter({ search: event.target.value }));
  byId("new-only").addEventListener("change", (event) => page.filter({ newOnly: event.target.checked }));
  byId("grouped").addEventListener("change", (event) => page.filter({ grouped: event.target.checked }));
  byId("order").addEventListener("change", (event) => page.filter({ order: event.target.value }));
  for (const [name, all, values] of [["file", "All", prepared.files], ["thread", "All", prepared.threads]]) {
    const options = values.map(([value, count]) => element("option", { value }, `${shortened(value, 60)} (${grouped(count)})`));
    byId(name).replaceChildren(element("option", { value: "" }, all), ...options);
    byId(name).addEventListener("change", (event) => page.filter({ [name]: event.target.value }));
  }
  // Not every report has possible findings; the other verdicts are always there.
  const verdicts = Object.keys(VERDICTS).filter((verdict) => verdict !== "possible" || findings.some((finding) => finding.verdict === verdict));
  byId("verdicts").style.setProperty("--verdicts", verdicts.length);
  byId("verdicts").replaceChildren(...verdicts.map((verdict) => {
    const count = findings.filter((finding) => finding.verdict === verdict).length;
    const button = element("button", {
      type: "button", class: verdict, "aria-pressed": "true", disabled: count === 0, title: VERDICTS[verdict].meaning,
      click: () => {
        const wanted = page.filterState.verdicts;
        if (!wanted.delete(verdict)) wanted.add(verdict);
        button.setAttribute("aria-pressed", String(wanted.has(verdict)));
        page.filter();
      },
    }, verdictSign(verdict), capitalised(verdict), element("span", { class: "figure" }, grouped(count)));
    return button;
  }));
}

/** Dark or light: as the system has it until somebody says otherwise. The choice is kept where the browser allows that. */
function createTheme() {
  const button = byId("theme-button");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => document.documentElement.dataset.theme;
  const isDark = () => (chosen() ? chosen() === "dark" : dark.matches);
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  try {
    const kept = localStorage.getItem("overtake-theme");
    if (kept) document.documentElement.dataset.theme = kept;
  } catch { /* A page from a disk may have no storage; the system's choice holds. */ }
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("overtake-theme", chosen()); } catch { /* As above. */ }
    name();
  });
  dark.addEventListener("change", name);
  name();
}

function createKeys(page) {
  const dialog = byId("keys");
  fillKeys(dialog);
  const search = byId("search");
  const newOnly = byId("new-only");
  byId("keys-button").addEventListener("click", () => dialog.showModal());
  byId("overview-button").addEventListener("click", () => page.visit("overview"));
  const everywhere = {
    j: () => page.list.step(1),
    k: () => page.list.step(-1),
    "/": () => { search.focus(); search.select(); },
    n: () => newOnly.click(),
    w: () => page.displayed()?.toggle(),
    p: () => page.displayed()?.play(),
    o: () => page.visit("overview"),
    t: () => byId("theme-button").click(),
    "?": () => dialog.showModal(),
    Escape: page.leave,
  };
  const inList = {
    ArrowDown: everywhere.j,
    ArrowUp: everywhere.k,
    PageDown: () => page.list.step(page.list.rowsPerView()),
    PageUp: () => page.list.step(-page.list.rowsPerView()),
    Home: () => page.list.step(-Infinity),
    End: () => page.list.step(Infinity),
    Enter: () => byId("pane").focus(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.target === search) return leaveSearch(event);
    if (event.target.matches("select")) return;
    const list = byId("list");
    const action = everywhere[event.key] ?? ((event.target === list || event.target === document.body) && inList[event.key]);
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** From the search field, Enter and arrow down lead to the list, Escape as well. */
function leaveSearch(event) {
  if (!["Enter", "ArrowDown", "Escape"].includes(event.key)) return;
  event.preventDefault();
  byId("list").focus();
}

start();
