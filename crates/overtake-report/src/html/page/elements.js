// Elements of the page. Whatever comes from the examined program enters it as text, never as markup.

/** Makes an HTML element. See `fill` for attributes and children. */
function element(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an SVG element. */
function drawn(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/**
 * Sets attributes and appends children. An attribute that is a function listens to that event; false, null and undefined leave
 * an attribute or a child out.
 */
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== false && child != null) node.append(typeof child === "string" ? visible(child) : child);
  }
  return node;
}

/** Makes control characters visible, those among them that turn the direction of writing: a name cannot rearrange the page. */
function visible(text) {
  return text.replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (letter) => (letter === "\t" || letter === "\n" ? letter : `\\u{${letter.codePointAt(0).toString(16)}}`));
}

/** The element of the page's frame with this id. */
function byId(id) {
  return document.getElementById(id);
}

/** Puts `separator` between the items that are there. */
function joined(items, separator) {
  return items.filter((item) => item != null && item !== false && item !== "")
    .flatMap((item, at) => (at === 0 ? [item] : [separator, item]));
}

