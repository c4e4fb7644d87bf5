// The details of what is chosen: one entity in full, or the sum of many.

class Details {
  constructor(graph, root, app) {
    this.graph = graph;
    this.root = root;
    this.app = app;
  }

  show(entities, label = "", more = []) {
    const isMany = entities.length > 1 || label;
    if (isMany) this.root.replaceChildren(...this.many(entities, label, more));
    else if (!entities.length) this.root.replaceChildren(this.hint());
    else this.root.replaceChildren(...this.one(entities[0]));
    this.root.scrollTop = 0;
  }

  hint() {
    return make(
      "p",
      { class: "hint" },
      "Choose a line, node or op: its whole lineage lights up in every column. " +
        "Arrow keys move, / searches, F shows lit rows only, Escape clears.",
    );
  }

  many(entities, label, more) {
    const letters = entities.map((entity) => this.graph.evidence(entity));
    const count = (letter) => letters.filter((each) => each === letter).length;
    return [
      make("h2", {}, label),
      this.facts([
        ["device ops", `${entities.length}`],
        ["measured", `${count("m")}`],
        ["inferred", `${count("i")}`],
        ["missing", `${count("x")}`],
        ...more,
      ]),
    ];
  }

  one(entity) {
    const column = this.graph.column(entity);
    const title = make("h2", {}, this.title(entity, column));
    const link = make("a", { href: this.app.address(this.graph.link(entity)) }, "link");
    title.append(" ", link);
    const shown = {
      source: () => [this.facts(this.lineFacts(entity))],
      op_spec: () => this.op(entity),
      super_dsc: () => [this.facts(this.fileFacts(entity)), ...this.json(entity)],
    }[column];
    return [title, ...(shown ? shown() : this.node(entity)), this.steps(entity)];
  }

  title(entity, column) {
    const name = this.graph.name(entity);
    if (column !== "op_spec") return `${this.app.titles[column]} · ${name}`;
    const path = this.graph.value(entity, "path");
    return `OpSpec · ${this.graph.kernelName(entity)}:${path}`;
  }

  facts(pairs) {
    const list = make("dl");
    for (const [name, value] of pairs) {
      if (value === "" || value === undefined) continue;
      list.append(make("dt", {}, name), make("dd", {}, value));
    }
    return list;
  }

  evidence(entity) {
    const rule = this.graph.text(entity, "rule");
    const meaning = this.graph.data.rules[rule];
    const reason =
      this.graph.text(entity, "reason") ||
      this.graph.string(this.graph.data.missing[entity]);
    const word = WORDS[this.graph.evidence(entity)];
    const how = rule && rule !== "none" ? ` by ${rule}: ${meaning}` : "";
    return `${word}${how}${reason ? ` (${reason})` : ""}`;
  }

  lineFacts(entity) {
    return [["text", this.graph.text(entity, "note")]];
  }

  fileFacts(entity) {
    const kernel = this.graph.data.kernels[this.graph.kernelOf[entity]];
    return [
      ["kernel", kernel ? kernel.name : ""],
      ["file", kernel ? `${kernel.directory}/${this.graph.name(entity)}` : ""],
      ["op", this.graph.text(entity, "note")],
      ["debug_handle_", this.graph.text(entity, "presence")],
      ["handle", this.graph.value(entity, "handle")],
      ["whose handle", this.graph.text(entity, "state")],
    ];
  }

  op(entity) {
    const text = (name) => this.graph.text(entity, name);
    const facts = this.facts([
      ["op", text("note")],
      ["evidence", this.evidence(entity)],
      ["module", [text("module"), text("type") && `(${text("type")})`].join(" ").trim()],
      ["aten", text("aten")],
      ["handle", this.graph.value(entity, "handle")],
      ["buffer", text("buffer")],
      ["made by", text("pass")],
      ["serves", text("serves")],
      ["space", text("space") && `${text("space")} (extent/cores)`],
      ...this.graph
        .value(entity, "tensors")
        .map((number) => ["tensor", this.graph.string(number)]),
    ]);
    const stacks = this.graph.value(entity, "stacks").map((n) => this.stack(n));
    return [facts, ...stacks, ...this.json(entity)];
  }

  node(entity) {
    const text = (name) => this.graph.text(entity, name);
    const facts = this.facts([
      ["is", text("type") || text("note")],
      ["evidence", this.evidence(entity)],
      ["module", text("module")],
      ["aten", text("aten")],
      ["buffer", text("buffer")],
      ["reads", text("reads")],
      ["origins", text("origins")],
      ["origin_node", text("origin")],
    ]);
    const stack = this.graph.value(entity, "stack");
    return stack === undefined || stack < 0 ? [facts] : [facts, this.stack(stack)];
  }

  /** Return the SDSC file, or the handle as it stands there, folded; or nothing. */
  json(entity) {
    const file = this.graph.value(entity, "document") ?? -1;
    if (file >= 0) return [this.folded("JSON", this.graph.data.documents[file])];
    const number = this.graph.value(entity, "json");
    if (number < 0) return [];
    const handle = { debug_handle_: this.handle(number) };
    const isFile = this.graph.column(entity) === "super_dsc";
    const whole = isFile ? { [this.graph.text(entity, "note")]: handle } : handle;
    const note = isFile ? "JSON, as far as it is recorded" : "debug_handle_ as JSON";
    return [this.folded(note, JSON.stringify(whole, null, 1))];
  }

  folded(note, text) {
    return make("details", {}, make("summary", {}, note), make("pre", {}, text));
  }

  handle(number) {
    const row = this.graph.data.handles[number];
    const [id, file, line, column, aten, chain, parts, history] = row;
    const text = (n) => (n < 0 ? null : this.graph.string(n));
    const source = { file: text(file), start_line: line, start_col: column };
    return {
      id,
      source: file < 0 ? null : source,
      aten_op: text(aten),
      ir_chain: chain.map(text),
      fused_from: parts.map((part) => this.handle(part)),
      transform_history: history.map(([kind, pass, reason]) => ({
        kind: text(kind),
        pass_name: text(pass),
        reason: text(reason),
      })),
    };
  }

  /** Return a stack, innermost frame first; its frames lead to their lines. */
  stack(number) {
    const list = make("ol", { class: "stack" });
    for (const frame of [...this.graph.data.stacks[number]].reverse()) {
      const [file, line, name, text] = this.graph.data.frames[frame];
      const where = `${this.graph.string(file)}:${line}`;
      const button = make("button", { type: "button" }, where);
      button.addEventListener("click", () => this.app.goToLine(where));
      const called = name < 0 ? "" : ` in ${this.graph.string(name)} `;
      list.append(make("li", {}, button, called, code(this.graph.string(text))));
    }
    return list;
  }

  /** Return how each step to and from an entity is known. */
  steps(entity) {
    const list = make("ul", { class: "steps" });
    const add = (word, edges, ends) => {
      for (const edge of edges.slice(0, 24)) {
        const other = ends[edge];
        const letter = this.graph.data.edges.evidence[edge];
        const rule = this.graph.string(this.graph.data.edges.rule[edge]);
        const column = this.app.titles[this.graph.column(other)];
        const button = make("button", { type: "button" }, this.graph.name(other));
        button.addEventListener("click", () => this.app.choose([other]));
        list.append(
          make("li", { class: WORDS[letter] }, `${word} ${column} `, button),
        );
        list.lastChild.append(` ${WORDS[letter]} (${rule})`);
      }
      if (edges.length > 24) list.append(make("li", {}, `and ${edges.length - 24} more`));
    };
    add("from", this.graph.entering(entity), this.graph.starts);
    add("to", this.graph.leaving(entity), this.graph.ends);
    return list;
  }
}

/** The modules as a tree; children are made when they are first shown. */
class ModuleTree {
  constructor(graph, root, app) {
    this.graph = graph;
    this.app = app;
    this.top = { path: "", name: "", children: new Map(), ops: [] };
    const first = graph.first.op_spec;
    const size = graph.data.columns.op_spec.names.length;
    for (let entity = first; entity < first + size; entity++) {
      const path = graph.text(entity, "module");
      this.place(path).ops.push(entity);
    }
    if (size) root.append(make("ul", {}, this.item(this.top, true)));
  }

  place(path) {
    let node = this.top;
    for (const name of path ? path.split(".") : []) {
      if (!node.children.has(name)) {
        const inner = node.path ? `${node.path}.${name}` : name;
        node.children.set(name, { path: inner, name, children: new Map(), ops: [] });
      }
      node = node.children.get(name);
    }
    return node;
  }

  all(node) {
    const inner = [...node.children.values()].flatMap((child) => this.all(child));
    return [...node.ops, ...inner];
  }

  item(node, isOpen) {
    const ops = this.all(node);
    const inferred = ops.filter((op) => this.graph.evidence(op) === "i").length;
    const missing = ops.filter((op) => this.graph.evidence(op) === "x").length;
    const doubt =
      (inferred ? ` ${MARKS.i}${inferred}` : "") + (missing ? ` ${MARKS.x}${missing}` : "");
    const label = make(
      "button",
      { type: "button", class: "module", title: node.path || "the whole model" },
      node.name || "model",
    );
    label.addEventListener("click", () =>
      this.app.choose(ops, null, `module ${node.path || "(the whole model)"}`),
    );
    const count = make("span", { class: "count" }, `${ops.length}${doubt}`);
    const item = make("li");
    if (node.children.size) item.append(this.toggle(node, item, isOpen));
    item.append(label, " ", count);
    if (isOpen) this.open(node, item);
    return item;
  }

  toggle(node, item, isOpen) {
    const name = `${node.path || "model"}: inner modules`;
    const button = make("button", {
      type: "button",
      class: "toggle",
      "aria-expanded": `${isOpen}`,
      "aria-label": name,
    });
    button.addEventListener("click", () => {
      const wasOpen = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", `${!wasOpen}`);
      if (wasOpen) item.querySelector("ul").remove();
      else this.open(node, item);
    });
    return button;
  }

  open(node, item) {
    const children = [...node.children.values()];
    if (!children.length) return;
    const only = children.length === 1;
    item.append(make("ul", {}, ...children.map((child) => this.item(child, only))));
  }
}
