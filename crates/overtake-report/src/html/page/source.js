// Source excerpts and call stacks.

/** Lines shown before and after the marked one. */
const NEIGHBOURS = 4;
/** Frames shown of a longer stack before somebody asks for the rest. */
const FRAMES_SHOWN = 6;

/** The frames of a stack, innermost first. */
function framesAt(contents, stack) {
  return contents.stacks[stack].map((frame) => frameAt(contents, frame));
}

/** The frame that a stack is known by: the innermost one of the program itself. Undefined if nothing is known. */
function siteAt(contents, stack) {
  return frameAt(contents, contents.sites[stack]);
}

/** A frame, with whether it is of the program itself and whether it is a lambda. */
function frameAt(contents, at) {
  const frame = contents.frames[at];
  if (frame && frame.own === undefined) {
    frame.own = contents.own[at];
    frame.lambda = contents.lambdas.includes(at);
  }
  return frame;
}

/** The lines around a frame's place, that line marked; or why there are none. */
function excerptView(sources, frame) {
  if (!frame) return excerptFigure("place unknown", element("p", { class: "absent" }, "Nothing is known about where this is in the code."));
  const place = placeOf(frame) || "place unknown";
  const lines = sources[frame.file]?.lines;
  if (!frame.file) {
    return excerptFigure(place, element("p", { class: "absent" }, "No debug information, so the source line is unknown."));
  }
  if (!lines?.[frame.line]) {
    return excerptFigure(place, element("p", { class: "absent" }, "The source is not part of this report."));
  }
  const numbers = Object.keys(lines).map(Number)
    .filter((number) => Math.abs(number - frame.line) <= NEIGHBOURS)
    .sort((left, right) => left - right);
  const { cut = {} } = sources[frame.file];
  const known = numbers.filter((number) => !(number in cut)).map((number) => lines[number]).filter((line) => line.trim());
  const indent = numbers.some((number) => number in cut) || known.length === 0 ? 0 : Math.min(...known.map(indentOf));
  const rows = numbers.map((number) => sourceLine(number, lines[number], number === frame.line ? frame : null, indent, cut[number] ?? 0));
  const text = element("pre", { tabindex: "0", "aria-label": `Source at ${place}` }, element("div", { class: "lines" }, rows));
  centreMark(text);
  return excerptFigure(place, text);
}

/** Scrolls what is accessed to the middle, whenever the width changes, if the line does not fit. */
function centreMark(text) {
  const mark = text.querySelector("mark");
  if (!mark) return;
  new ResizeObserver(() => {
    const [frame, place] = [text.getBoundingClientRect(), mark.getBoundingClientRect()];
    const gutter = text.querySelector(".number").offsetWidth;
    const [left, right] = [frame.left + gutter, frame.right];
    if (place.left >= left && place.right <= right) return;
    const middle = place.width < right - left ? place.left + place.width / 2 : place.left + (right - left) / 2;
    text.scrollLeft += middle - (left + right) / 2;
  }).observe(text);
}

function excerptFigure(place, body) {
  return element("figure", { class: "excerpt" }, element("figcaption", {}, place), body);
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}

/** A line of which `cut` bytes at its beginning are not known. */
function sourceLine(number, line, marked, indent, cut) {
  const gutter = element("span", { class: "number" }, marked ? `▸ ${number}` : `${number}`);
  const column = (marked?.column ?? 0) - cut;
  const code = element("code", {}, cut > 0 && "…", marked ? markedExpression(line, column, indent) : line.slice(indent));
  return element("span", { class: marked ? "line racing" : "line" }, gutter, code);
}

/** Names, members and indexes in a row: `table->rows[i].count`. */
const CHAIN = String.raw`[\w$]+(?:(?:->|::|\.)[\w$]+|\[[^\]]*\])*`;

/** Where the bracket opens that closes at the end of a text; -1 if nowhere. */
function openingOf(text) {
  const close = text.at(-1);
  const open = { ")": "(", "]": "[" }[close];
  let depth = 0;
  for (let at = text.length - 1; open && at >= 0; at--) {
    if (text[at] === close) depth++;
    if (text[at] === open && --depth === 0) return at;
  }
  return -1;
}

/**
 * Marks the expression at `column`: a chain with what it is a member of, an operator with what is on its left, or, if nothing is,
 * with what is on its right. Columns count bytes.
 */
function markedExpression(line, column, indent) {
  const at = column > 0 ? new TextDecoder().decode(new TextEncoder().encode(line).slice(0, column - 1)).length : -1;
  const [before, after] = [line.slice(0, at), line.slice(at)];
  const found = (pattern, text) => new RegExp(pattern).exec(text)?.[0] ?? "";
  // Compilers name the parenthesis of a call.
  const callee = after[0] === "(" && found(`${CHAIN}(?:<[^()]*>)?$`, before);
  if (callee && at - callee.length >= indent) return [line.slice(indent, at - callee.length), element("mark", {}, callee), after];
  // Of an operator of a class they name the last bracket.
  const open = openingOf(line.slice(0, at + 1));
  if (open >= indent && at >= 0) {
    const start = Math.max(indent, open - found(`${CHAIN}(?:<[^()]*>)?$`, line.slice(0, open)).length);
    return [line.slice(indent, start), element("mark", {}, line.slice(start, at + 1)), after.slice(1)];
  }
  const operator = found("^[-+*/%&|^<>=!~]+", after);
  const left = operator ? found(`${CHAIN}\\s*$`, before) : found(`${CHAIN}(?:->|::|\\.)$`, before);
  const right = operator ? operator + (left ? "" : found(`^${CHAIN}`, after.slice(operator.length))) : found(`^${CHAIN}|^\\S`, after);
  if (at < indent || !right) return line.slice(indent);
  const start = Math.max(indent, at - left.length);
  return [line.slice(indent, start), element("mark", {}, line.slice(start, at + right.length)), after.slice(right.length)];
}

/**
 * The frames that are shown, each with how many are folded before it: those of the program, and what they call in a library.
 * A stack without a frame of the program is shown as it is.
 */
function shownFrames(frames) {
  const last = frames.findLastIndex((frame) => frame.own);
  if (last < 0) return frames.map((frame) => ({ frame, folded: 0 }));
  const shown = [];
  let folded = 0;
  frames.slice(0, last + 1).forEach((frame, at) => {
    if (!frame.own && !frames[at + 1]?.own) return folded++;
    shown.push({ frame, folded });
    folded = 0;
  });
  return shown;
}

/**
 * A call stack. With `onFrame` the frames whose source is known can be picked, and the one in `current` is.
 * Frames of libraries and the end of long stacks are folded.
 */
function stackView(frames, { sources = {}, onFrame = null, current = null, label = "Call stack" } = {}) {
  if (frames.length === 0) return element("p", { class: "absent" }, "No stack is known.");
  const list = element("ol", { class: "stack", "aria-label": label });
  const buttons = [];
  const entry = (frame, folded) => {
    const name = functionOf(frame);
    const words = [
      element("span", { class: "function", title: (name.length > 120 || frame.lambda) && frame.function }, name),
      element("span", { class: "place" }, placeOf(frame), folded > 0 && ` (+${counted(folded, "frame")} deeper)`),
    ];
    if (!onFrame || !sources[frame.file]?.lines[frame.line]) return element("li", {}, element("div", { class: "frame" }, words));
    const pick = () => {
      for (const button of buttons) button.setAttribute("aria-pressed", String(button === own));
      onFrame(frame);
    };
    const own = element("button", { type: "button", class: "frame", "aria-pressed": String(frame === current), click: pick }, words);
    buttons.push(own);
    return element("li", {}, own);
  };
  const shown = shownFrames(frames);
  list.append(...shown.slice(0, FRAMES_SHOWN + 1).map(({ frame, folded }) => entry(frame, folded)));
  const rest = frames.length - list.children.length;
  if (rest === 0) return list;
  const unfold = element("button", {
    type: "button", class: "quiet",
    click: () => {
      list.replaceChildren(...frames.map((frame) => entry(frame, 0)));
      unfold.remove();
    },
  }, `Show all ${counted(frames.length, "frame")}`);
  return element("div", {}, list, unfold);
}

/** A stack that only some readers want: its site, the rest on demand. Null if nothing is known. */
function foldedStack(contents, stack, label) {
  const site = siteAt(contents, stack);
  if (!site) return null;
  const summary = joined([functionOf(site), placeOf(site)], " ");
  return element("details", { class: "aside" }, element("summary", {}, summary), stackView(framesAt(contents, stack), { label }));
}

