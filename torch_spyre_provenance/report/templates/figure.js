// The lit lineage as a drawing of its own: a layer for each column, in any size.

const BOX = { width: 190, height: 24, right: 70, below: 8, top: 26 };
const MOST_BOXES = 400;
const STEP = 1.25;

class Figure {
  constructor(graph, root, app) {
    this.graph = graph;
    this.app = app;
    this.canvas = root.querySelector(".canvas");
    this.svg = root.querySelector("svg");
    this.note = root.querySelector(".hint");
    this.size = root.querySelector("output");
    this.scale = 1;
    this.whole = { width: 1, height: 1 };
    for (const [id, step] of [["zoom-in", STEP], ["zoom-out", 1 / STEP], ["zoom-fit", 0]]) {
      root.querySelector(`#${id}`).addEventListener("click", () => this.zoom(step));
    }
    this.canvas.addEventListener("keydown", (event) => this.pressed(event));
    this.canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return; // without it, the wheel scrolls as everywhere
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? STEP : 1 / STEP);
      },
      { passive: false },
    );
  }

  /** Draw what is marked: null for nothing. */
  show(marks) {
    const layers = marks === null ? [] : this.layers(marks);
    const count = layers.reduce((sum, layer) => sum + layer.length, 0);
    const isDrawn = count > 0 && count <= MOST_BOXES;
    this.canvas.hidden = !isDrawn;
    this.note.hidden = isDrawn;
    this.note.textContent = count
      ? `${count} entities are too many for a drawing; choose fewer.`
      : "Choose something above to see its lineage here.";
    this.svg.replaceChildren(...(isDrawn ? this.drawing(layers) : []));
    if (isDrawn) this.zoom(0);
  }

  /** Return the marked entities of each column that has any. */
  layers(marks) {
    const layers = this.graph.order.map(() => []);
    marks.forEach((mark, entity) => {
      if (mark) layers[this.graph.columnNumber[entity]].push(entity);
    });
    return layers.filter((layer) => layer.length);
  }

  drawing(layers) {
    const rows = Math.max(...layers.map((layer) => layer.length));
    const step = BOX.height + BOX.below;
    const places = new Map();
    layers.forEach((layer, column) => {
      const top = BOX.top + ((rows - layer.length) * step) / 2;
      layer.forEach((entity, row) => {
        places.set(entity, [column * (BOX.width + BOX.right), top + row * step]);
      });
    });
    this.whole = {
      width: layers.length * (BOX.width + BOX.right) - BOX.right,
      height: BOX.top + rows * step,
    };
    this.svg.setAttribute("viewBox", `-2 0 ${this.whole.width + 4} ${this.whole.height}`);
    this.svg.setAttribute("aria-label", this.words(layers));
    return [
      ...layers.map((layer, column) => this.heading(layer, column)),
      ...this.edges(places),
      ...[...places].map(([entity, place]) => this.box(entity, place)),
    ];
  }

  words(layers) {
    const parts = layers.map(
      (layer) => `${layer.length} of ${this.app.titles[this.graph.column(layer[0])]}`,
    );
    return `Lineage: ${parts.join(", ")}`;
  }

  heading(layer, column) {
    const title = this.app.titles[this.graph.column(layer[0])];
    return draw("text", { x: column * (BOX.width + BOX.right), y: 14, class: "layer" }, title);
  }

  edges(places) {
    const paths = [];
    for (const [entity, [x, y]] of places) {
      for (const edge of this.graph.leaving(entity)) {
        const end = places.get(this.graph.ends[edge]);
        if (!end) continue;
        const [from, middle] = [x + BOX.width, y + BOX.height / 2];
        const bend = (end[0] - from) / 2;
        const [to, target] = [end[0], end[1] + BOX.height / 2];
        const d = `M${from} ${middle}C${from + bend} ${middle} ${to - bend} ${target} ${to} ${target}`;
        const kind = WORDS[this.graph.data.edges.evidence[edge]];
        paths.push(draw("path", { d, class: kind }));
      }
    }
    return paths;
  }

  box(entity, [x, y]) {
    const kind = WORDS[this.graph.evidence(entity)];
    const isSource = this.graph.column(entity) === "source";
    const name = this.graph.name(entity);
    const note = this.graph.text(entity, "note").trim();
    const mark = isSource ? "" : `${MARKS[this.graph.evidence(entity)]} `;
    const short = isSource ? name.split("/").pop() : name;
    const group = draw("g", { class: isSource ? "box" : `box ${kind}` });
    group.append(
      draw("title", {}, `${name} ${note}`),
      draw("rect", { x, y, width: BOX.width, height: BOX.height, rx: 3 }),
      draw("text", { x: x + 6, y: y + 16 }, cut(`${mark}${short}  ${note}`, 25)),
    );
    if (this.app.chosen.has(entity)) group.classList.add("chosen");
    group.addEventListener("click", () => this.app.choose([entity]));
    return group;
  }

  /** Make the drawing larger or smaller; 0 makes it as wide as the page. */
  zoom(step) {
    const fit = Math.min(1.5, (this.canvas.clientWidth - 4) / this.whole.width) || 1;
    this.scale = step ? Math.min(8, Math.max(0.1, this.scale * step)) : fit;
    this.svg.setAttribute("width", this.whole.width * this.scale);
    this.svg.setAttribute("height", this.whole.height * this.scale);
    this.size.textContent = `${Math.round(this.scale * 100)} %`;
  }

  pressed(event) {
    const steps = { "+": STEP, "=": STEP, "-": 1 / STEP, 0: 0 };
    if (event.ctrlKey || event.metaKey || !(event.key in steps)) return;
    event.preventDefault();
    this.zoom(steps[event.key]);
  }
}

function draw(tag, attributes, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

function cut(text, longest) {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}
