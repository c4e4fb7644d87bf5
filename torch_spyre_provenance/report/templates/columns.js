// The columns: long lists of which only the visible rows are in the document, and the
// edges between those rows.

const ROW = 22; // pixels, as in the style sheet
const MARGIN = 4; // rows above and below the visible ones
const KEYWORDS = new Set(
  ("and as assert async await break class continue def del elif else except finally " +
    "for from global if import in is lambda None nonlocal not or pass raise return " +
    "True False try while with yield self").split(" "),
);
const TOKEN = /("[^"]*"?|'[^']*'?|#.*|\b\d[\w.]*|\b[A-Za-z_]\w*|.)/g;

/** A row that is no entity: a file, a kernel, a line without ops, or a gap. */
class Special {
  constructor(kind, text, number = 0) {
    this.kind = kind;
    this.text = text;
    this.number = number;
  }
}

class Column {
  constructor(graph, id, root, app) {
    this.graph = graph;
    this.id = id;
    this.app = app;
    this.root = root;
    this.list = root.querySelector(".list");
    this.space = root.querySelector(".space");
    this.count = root.querySelector(".count");
    this.first = graph.first[id];
    this.size = graph.data.columns[id].names.length;
    this.lines = new Map();
    this.all = id === "source" ? this.sourceRows() : this.plainRows();
    this.position = new Int32Array(this.size);
    this.active = -1;
    this.list.addEventListener("scroll", () => app.schedule(this));
    this.list.addEventListener("click", (event) => this.clicked(event));
    this.list.addEventListener("keydown", (event) => this.pressed(event));
    this.setRows(null);
  }

  plainRows() {
    const rows = [];
    let kernel = -1;
    for (let entity = this.first; entity < this.first + this.size; entity++) {
      if (this.graph.kernelOf[entity] !== kernel) {
        kernel = this.graph.kernelOf[entity];
        rows.push(new Special("kernel", this.graph.kernelName(entity), kernel));
      }
      rows.push(entity);
    }
    return rows;
  }

  sourceRows() {
    const rows = [];
    for (const file of this.graph.data.sources) {
      rows.push(new Special("file", file.short));
      file.lines.forEach((line, n) => {
        if (n && line > file.lines[n - 1] + 1) rows.push(new Special("gap", "⋯"));
        const entity = file.entities[n];
        if (entity < 0) {
          const row = new Special("text", file.texts[n], line);
          this.lines.set(`${file.path}:${line}`, row);
          rows.push(row);
        } else {
          this.lines.set(`${file.path}:${line}`, entity);
          rows.push(entity);
        }
      });
    }
    this.texts = new Map();
    for (const file of this.graph.data.sources) {
      file.entities.forEach((entity, n) => {
        if (entity >= 0) this.texts.set(entity, [file.lines[n], file.texts[n]]);
      });
    }
    return rows;
  }

  /** Show the marked entities with the headings above them, or everything. */
  setRows(marks) {
    this.rows = marks === null ? this.all : this.marked(marks);
    this.position.fill(-1);
    let n = 0;
    this.rows.forEach((row, at) => {
      if (typeof row === "number") {
        this.position[row - this.first] = at;
        n++;
      }
    });
    this.space.style.height = `${this.rows.length * ROW}px`;
    this.count.textContent = n === this.size ? `${n}` : `${n} of ${this.size}`;
    this.list.hidden = !this.all.length;
  }

  marked(marks) {
    const rows = [];
    let heading = null;
    for (const row of this.all) {
      if (typeof row === "object") {
        if (row.kind === "file" || row.kind === "kernel") heading = row;
      } else if (marks[row]) {
        if (heading) rows.push(heading);
        heading = null;
        rows.push(row);
      }
    }
    return rows;
  }

  at(entity) {
    return this.position[entity - this.first];
  }

  visible() {
    const top = Math.floor(this.list.scrollTop / ROW);
    const bottom = Math.ceil((this.list.scrollTop + this.list.clientHeight) / ROW);
    return [Math.max(0, top), Math.min(this.rows.length, bottom)];
  }

  render([top, bottom] = this.visible()) {
    const from = Math.max(0, top - MARGIN);
    const to = Math.min(this.rows.length, bottom + MARGIN);
    const rows = [];
    for (let at = from; at < to; at++) rows.push(this.row(this.rows[at], at));
    this.space.replaceChildren(...rows);
    const shown = this.active >= from && this.active < to;
    if (shown) this.list.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    else this.list.removeAttribute("aria-activedescendant");
  }

  row(row, at) {
    const isEntity = typeof row === "number";
    const isLit = isEntity && this.app.lit !== null && this.app.lit[row] === 1;
    const element = make("div", {
      id: `${this.id}-${at}`,
      role: "option",
      "aria-selected": `${isLit}`,
      "aria-posinset": `${at + 1}`,
      "aria-setsize": `${this.rows.length}`,
      class: isEntity ? "row" : `row ${row.kind}`,
    });
    element.style.top = `${at * ROW}px`;
    element.dataset.at = `${at}`;
    if (at === this.active) element.classList.add("active");
    if (!isEntity) return this.special(element, row);
    if (isLit) element.classList.add("lit");
    if (this.app.chosen.has(row)) element.classList.add("chosen");
    if (this.id === "source") this.sourceRow(element, row);
    else this.entityRow(element, row);
    return element;
  }

  special(element, row) {
    if (row.kind === "kernel") {
      element.append(make("span", { class: "name" }, row.text));
      element.title = row.text;
      return element;
    }
    element.setAttribute("aria-disabled", "true");
    if (row.kind === "text") element.append(lineNumber(row.number), code(row.text));
    else element.append(row.text);
    return element;
  }

  sourceRow(element, entity) {
    const [line, text] = this.texts.get(entity);
    element.classList.add("from");
    element.append(lineNumber(line), code(text));
    element.title = `${this.graph.name(entity)}  ${text.trim()}`;
  }

  entityRow(element, entity) {
    const letter = this.graph.evidence(entity);
    const note = this.graph.text(entity, "note");
    element.classList.add(WORDS[letter]);
    element.append(
      make("span", { class: "mark", "aria-hidden": "true" }, MARKS[letter]),
      make("span", { class: "name" }, this.graph.name(entity)),
      make("span", { class: "note" }, note),
      make("span", { class: "unseen" }, `, ${WORDS[letter]}`),
    );
    element.title = `${this.graph.name(entity)} ${note}, ${WORDS[letter]}`;
  }

  clicked(event) {
    const element = event.target.closest(".row");
    if (element) this.choose(Number(element.dataset.at));
  }

  /** Make a row the active one, and light its lineage if it has one. */
  choose(at) {
    this.active = at;
    this.reveal(at);
    const row = this.rows[at];
    if (typeof row === "number") this.app.choose([row], this);
    else if (row.kind === "kernel") this.app.chooseKernel(row.number, this);
    else this.render();
  }

  pressed(event) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const last = this.rows.length - 1;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    let at = null;
    if (event.key in steps) at = this.next(steps[event.key]);
    else if (event.key === "Home") at = this.next(-last - 1);
    else if (event.key === "End") at = this.next(last + 1);
    else if (event.key === "Enter" || event.key === " ") at = Math.max(0, this.active);
    else if (event.key === "ArrowLeft") this.app.aside(this, -1);
    else if (event.key === "ArrowRight") this.app.aside(this, 1);
    else return;
    event.preventDefault();
    if (at !== null && this.rows.length) this.choose(at);
  }

  /** Return the row that is some steps away, the nearest that can be chosen. */
  next(steps) {
    const last = this.rows.length - 1;
    const way = Math.sign(steps);
    let at = this.active < 0 ? (way > 0 ? 0 : last) : this.active + steps;
    at = Math.min(last, Math.max(0, at));
    const can = (n) => typeof this.rows[n] === "number" || this.rows[n].kind === "kernel";
    for (let n = at; n >= 0 && n <= last; n += way) if (can(n)) return n;
    for (let n = at; n >= 0 && n <= last; n -= way) if (can(n)) return n;
    return at;
  }

  /** Scroll so that a row can be seen, if it cannot yet. */
  reveal(at) {
    const top = at * ROW;
    const height = this.list.clientHeight;
    if (top >= this.list.scrollTop && top + ROW <= this.list.scrollTop + height) return;
    this.list.scrollTop = Math.max(0, top - height / 3);
  }

  /** Scroll to the lit rows unless one of them is in sight. */
  revealLit() {
    const lit = this.litRows();
    const [top, bottom] = this.visible();
    if (lit.length && !lit.some((at) => at >= top && at < bottom - 1)) {
      this.reveal(lit[0]);
    }
  }

  litRows() {
    const found = [];
    if (this.app.lit === null) return found;
    for (let n = 0; n < this.size; n++) {
      if (this.app.lit[this.first + n] && this.position[n] >= 0) {
        found.push(this.position[n]);
      }
    }
    return found.sort((a, b) => a - b);
  }

  /** Return where the column is, in pixels of the area that holds all of them. */
  box() {
    const { list, root } = this;
    return {
      scroll: list.scrollTop,
      low: list.offsetTop,
      high: list.offsetTop + list.clientHeight,
      left: root.offsetLeft,
      right: root.offsetLeft + root.offsetWidth,
    };
  }
}

function lineNumber(number) {
  return make("span", { class: "number" }, `${number}`);
}

function code(text) {
  const element = make("code");
  for (const [token] of text.matchAll(TOKEN)) {
    const kind = tokenKind(token);
    element.append(kind ? make("span", { class: kind }, token) : token);
  }
  return element;
}

function tokenKind(token) {
  if (token[0] === "#") return "comment";
  if (token[0] === '"' || token[0] === "'") return "string";
  if (/^\d/.test(token)) return "literal";
  return KEYWORDS.has(token) ? "keyword" : "";
}

const SVG = "http://www.w3.org/2000/svg";

/** Draw the edges between visible rows; those of the lit lineage above the others. */
function drawEdges(svg, app) {
  const { graph, columns, lit } = app;
  const boxes = columns.map((column) => column.box());
  const plain = [];
  const bright = [];
  for (const [number, column] of columns.entries()) {
    const [top, bottom] = column.visible();
    const rows = lit === null ? range(top, bottom) : column.litRows();
    for (const at of rows) {
      const entity = column.rows[at];
      if (typeof entity !== "number") continue;
      for (const edge of graph.leaving(entity)) {
        const other = graph.ends[edge];
        const target = graph.columnNumber[other];
        const end = columns[target].at(other);
        if (end < 0 || (lit !== null && !lit[other])) continue;
        const path = edgePath(boxes[number], at, boxes[target], end, lit !== null);
        if (path) {
          path.classList.add(WORDS[graph.data.edges.evidence[edge]]);
          (lit === null ? plain : bright).push(path);
        }
      }
    }
  }
  svg.classList.toggle("has-lit", lit !== null);
  svg.replaceChildren(...plain, ...bright);
}

function range(from, to) {
  return Array.from({ length: Math.max(0, to - from) }, (_, n) => from + n);
}

/** Return the curve between two rows, or null where neither end is in sight. */
function edgePath(from, at, to, end, isLit) {
  const a = from.low + (at + 0.5) * ROW - from.scroll;
  const b = to.low + (end + 0.5) * ROW - to.scroll;
  const starts = a >= from.low && a <= from.high;
  const ends = b >= to.low && b <= to.high;
  if (!(starts && ends) && !(isLit && (starts || ends))) return null;
  const y = Math.min(from.high, Math.max(from.low, a));
  const z = Math.min(to.high, Math.max(to.low, b));
  const bend = (to.left - from.right) / 2;
  const path = document.createElementNS(SVG, "path");
  path.setAttribute(
    "d",
    `M${from.right} ${y}C${from.right + bend} ${y} ${to.left - bend} ${z} ${to.left} ${z}`,
  );
  return path;
}
