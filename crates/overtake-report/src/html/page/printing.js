// On paper nothing slides and nothing scrolls: the list is printed as a table, and both orders of a schedule side by side.

/** Rows of the list that are printed; more of them nobody reads. */
const PRINTED_ROWS = 200;
/** Room for the drawings on paper, in pixels. */
const PRINTED_WIDTH = 680;

/** Prepares the page for paper while it is printed. `shown()` are the findings in the list, `current()` the one on display. */
function preparePrinting(contents, shown, current) {
  const place = byId("print-list");
  const unfolded = [];
  addEventListener("beforeprint", () => {
    const items = shown();
    const rows = items.slice(0, PRINTED_ROWS).map((item) => printedRow(contents.findings[item]));
    const rest = items.length > PRINTED_ROWS && element("p", {}, `and ${grouped(items.length - PRINTED_ROWS)} more`);
    place.replaceChildren(element("table", {}, element("caption", {}, "Findings"), element("tbody", {}, rows)), rest || "");
    printedOrders(current());
    for (const node of document.querySelectorAll("main .aside:not([open]):has(.stack)")) {
      node.open = true;
      unfolded.push(node);
    }
  });
  addEventListener("afterprint", () => {
    place.replaceChildren();
    for (const node of unfolded.splice(0)) node.open = false;
    for (const node of document.querySelectorAll(".printed-orders")) node.remove();
  });
}

function printedRow(finding) {
  return element("tr", {}, element("td", {}, String(finding.id)),
    element("td", { class: finding.verdict }, verdictSign(finding.verdict), finding.verdict),
    element("td", {}, STATUS_TITLES[finding.status.is]),
    element("td", {}, shortened(finding.headline, 200)),
    element("td", { class: "figure" }, `×${grouped(finding.count)}`));
}

function printedOrders(displayed) {
  const stage = document.querySelector(".schedule .stage");
  if (!stage || !displayed?.schedule) return;
  const orders = displayed.schedule.witness.length > 0 ? [["As it happened", 0], ["As it can happen", 1]] : [["As it happened", 0]];
  const schedule = displayed.schedule.steps.length <= KEY_STEPS + 2 ? displayed.schedule : keySchedule(displayed.schedule);
  const narrow = schedule.threads.length < 3;
  const figures = orders.map(([title, time]) => {
    const drawing = createDrawing(schedule, displayed.verdict, narrow ? PRINTED_WIDTH / 2 : PRINTED_WIDTH);
    drawing.show(time, { left: 0, top: 0, bottom: Infinity });
    for (const [name, value] of Object.entries({ width: drawing.width, height: drawing.height, viewBox: `0 0 ${drawing.width} ${drawing.height}` })) drawing.svg.setAttribute(name, value);
    return element("figure", {}, element("figcaption", {}, title), drawing.svg);
  });
  stage.after(element("div", { class: narrow ? "printed-orders abreast" : "printed-orders" }, figures));
}

