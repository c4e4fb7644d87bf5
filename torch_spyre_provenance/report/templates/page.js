// The page as a whole: what is chosen, what is lit, what is searched.

class App {
  constructor() {
    this.compiles = document.getElementById("compile");
    const data = this.chooseCompile();
    this.name = data.name;
    const roots = [...document.querySelectorAll(".column")];
    const order = roots.map((root) => root.dataset.column);
    this.titles = Object.fromEntries(
      roots.map((root) => [root.dataset.column, root.dataset.title]),
    );
    this.graph = new Graph(data, order);
    this.lit = null;
    this.chosen = new Set();
    this.found = null;
    this.onlyLit = false;
    this.waiting = new Set();
    this.area = document.getElementById("columns");
    this.svg = this.area.querySelector("svg");
    this.details = new Details(this.graph, document.getElementById("details"), this);
    this.columns = roots.map(
      (root, number) => new Column(this.graph, order[number], root, this),
    );
    roots.forEach((root, number) => {
      root.querySelector(".why").textContent = data.why[order[number]];
    });
    this.figure = new Figure(this.graph, document.getElementById("figure"), this);
    this.tree = new ModuleTree(this.graph, document.getElementById("tree"), this);
    this.listen();
    this.details.show([]);
    this.renderAll();
    this.followLink();
    document.documentElement.dataset.ready = performance.now().toFixed(1);
  }

  /** Show the compile that the address names, else the first; return its data. */
  chooseCompile() {
    const blocks = [...document.querySelectorAll("script.data")];
    const names = this.compiles ? [...this.compiles.options].map((o) => o.value) : [];
    const number = Math.max(0, names.indexOf(splitLink().compile));
    const data = JSON.parse(blocks[number].textContent);
    for (const part of document.querySelectorAll("[data-compile]")) {
      part.hidden = part.dataset.compile !== data.name;
    }
    if (!number) return data;
    this.compiles.selectedIndex = number;
    for (const link of document.querySelectorAll("header nav a:not([href='#figure'])")) {
      link.hash += `-${number}`;
    }
    return data;
  }

  /** Open another compile: the page once more, for it holds one at a time. */
  openCompile(name) {
    location.hash = `compile=${encodeURIComponent(name)}`;
    location.reload();
  }

  listen() {
    this.compiles?.addEventListener("change", () =>
      this.openCompile(this.compiles.value),
    );
    this.query = document.getElementById("query");
    this.filter = document.getElementById("evidence");
    this.output = document.getElementById("found");
    this.toggle = document.getElementById("only-lit");
    this.query.addEventListener("input", () => this.search());
    this.filter.addEventListener("change", () => this.search());
    document.getElementById("search").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.found && this.found.length) this.choose([this.found[0]]);
    });
    this.toggle.addEventListener("click", () => this.setOnlyLit(!this.onlyLit));
    document.getElementById("clear").addEventListener("click", () => this.clear());
    window.addEventListener("hashchange", () => this.followLink());
    window.addEventListener("resize", () => this.renderAll());
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    const isTyping = event.target.closest("input, select");
    if (event.key === "Escape") this.clear();
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      this.query.focus();
    } else if (event.key === "f" || event.key === "F") this.setOnlyLit(!this.onlyLit);
  }

  /** Light the lineage of some entities; `from` is the column that keeps its place. */
  choose(entities, from = null, label = "", more = []) {
    this.chosen = new Set(entities);
    this.lit = entities.length ? this.graph.lineage(entities) : null;
    if (this.onlyLit) this.filterRows();
    for (const column of this.columns) {
      if (entities.length === 1 && this.graph.column(entities[0]) === column.id) {
        column.active = column.at(entities[0]);
        if (column.active >= 0) column.reveal(column.active);
        column.root.scrollIntoView({ block: "nearest", inline: "nearest" });
      } else if (column !== from || this.onlyLit) column.revealLit();
    }
    this.details.show(entities, label, more);
    this.figure.show(this.lit);
    this.remember(entities);
    this.renderAll();
  }

  chooseKernel(number, from = null) {
    const ops = [];
    const first = this.graph.first.op_spec;
    const last = first + this.graph.data.columns.op_spec.names.length;
    for (let entity = first; entity < last; entity++) {
      if (this.graph.kernelOf[entity] === number) ops.push(entity);
    }
    const { name, directory, unimplemented } = this.graph.data.kernels[number];
    this.choose(ops, from, `kernel ${name}`, [
      ["directory", directory],
      ["not built", unimplemented && `the device lacks ${unimplemented}`],
    ]);
  }

  clear() {
    this.query.value = "";
    this.filter.value = "";
    this.found = null;
    this.output.textContent = "";
    this.choose([]);
    this.setOnlyLit(false);
  }

  /** Move to a neighbouring column: to its lit row, if there is one. */
  aside(column, step) {
    let number = this.columns.indexOf(column) + step;
    while (this.columns[number] && !this.columns[number].rows.length) number += step;
    const other = this.columns[number];
    if (!other) return;
    const lit = other.litRows();
    const [top] = other.visible();
    if (!lit.includes(other.active)) other.active = lit.length ? lit[0] : top;
    other.reveal(other.active);
    other.list.focus({ preventScroll: true });
    other.root.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.renderAll();
  }

  goToLine(where) {
    const source = this.columns[0];
    const row = source.lines.get(where);
    if (row === undefined) return;
    if (typeof row === "number") return this.choose([row]);
    source.active = source.rows.indexOf(row);
    if (source.active >= 0) source.reveal(source.active);
    source.render();
  }

  search() {
    const evidence = this.filter.value ? ` evidence:${this.filter.value}` : "";
    this.found = this.graph.search(this.query.value + evidence);
    const count = this.found ? this.found.length : 0;
    this.output.textContent = this.found ? `${count} found` : "";
    this.filterRows();
  }

  setOnlyLit(isOn) {
    this.onlyLit = isOn;
    this.toggle.setAttribute("aria-pressed", `${isOn}`);
    this.filterRows();
  }

  /** Show what was found, with its lineage; or what is lit; or all. */
  filterRows() {
    let marks = this.found ? this.graph.lineage(this.found) : null;
    if (this.onlyLit && this.lit !== null) {
      const { lit } = this;
      marks = marks === null ? lit : marks.map((mark, n) => mark & lit[n]);
    }
    for (const column of this.columns) {
      const active = column.active < 0 ? null : column.rows[column.active];
      column.setRows(marks);
      column.active = active === null ? -1 : column.rows.indexOf(active);
    }
    for (const column of this.columns) {
      if (column.active >= 0) column.reveal(column.active);
      else column.revealLit();
    }
    this.renderAll();
  }

  /** Keep the choice in the address, so that a reload and a bookmark bring it back. */
  remember(entities) {
    const one = entities.length === 1 ? this.graph.link(entities[0]) : "";
    const url = this.address(one) || location.pathname + location.search;
    history.replaceState(null, "", url);
  }

  /** Return the address of a link, with the compile where there are several. */
  address(link) {
    const own = this.compiles ? `compile=${encodeURIComponent(this.name)}` : "";
    const parts = [own, encodeURI(link)].filter(Boolean);
    return parts.length ? `#${parts.join(";")}` : "";
  }

  followLink() {
    const { compile, link } = splitLink();
    if (compile !== null && compile !== this.name && this.compiles) {
      const isKnown = [...this.compiles.options].some((o) => o.value === compile);
      if (isKnown) return location.reload();
      this.output.textContent = `not in this page: ${compile}`;
    }
    if (!link.includes("=")) return;
    const entity = this.graph.follow(link);
    if (entity < 0) this.output.textContent = `not in this bundle: ${link}`;
    else if (!this.chosen.has(entity) || this.chosen.size > 1) this.choose([entity]);
  }

  /** Show each column's rows. All are measured first: a change makes measuring slow. */
  renderAll() {
    const windows = this.columns.map((column) => column.visible());
    this.columns.forEach((column, number) => column.render(windows[number]));
    this.schedule();
  }

  /** Draw again before the next frame: a column's rows, and the edges. */
  schedule(column) {
    if (column) this.waiting.add(column);
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      for (const each of this.waiting) each.render();
      this.waiting.clear();
      this.svg.setAttribute("width", this.area.scrollWidth);
      this.svg.setAttribute("height", this.area.clientHeight);
      drawEdges(this.svg, this);
    });
  }
}

/** Return the compile and the link that the address names; null and "" for none. */
function splitLink() {
  const [, own, rest] = /^#(?:compile=([^;]*);?)?(.*)$/.exec(location.hash) || [];
  try {
    return {
      compile: own === undefined ? null : decodeURIComponent(own),
      link: decodeURI(rest || ""),
    };
  } catch {
    return { compile: null, link: "" }; // an address that somebody cut short
  }
}

const app = new App();
