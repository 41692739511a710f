// The box in which a reader evaluates a page's instructions or runs its program, and the buttons beside its corner cases. Everything is computed by
// the definitions, in a worker (site/trying/worker.js); this file asks and shows.
(() => {
  "use strict";
  const place = document.querySelector("div.trying");
  if (!place) return;
  const given = typeof ptxspecTrying === "undefined" ? { missing: "its files are not there" } : ptxspecTrying;
  const root = document.documentElement.dataset.content_root || "./";
  const home = new URL(root, location.href).href;
  const page = place.dataset.page;
  const forms = JSON.parse(place.dataset.forms);

  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  };

  // Rows of the tables: `{text, operands}` of each, as the box and the command line take it ----------------------------------

  const registerOf = (name) => (name === "CC.CF" ? name : name.replaceAll(".", ""));

  const rowsOf = (table) => {
    const caption = table.querySelector("caption");
    const template = caption && forms[caption.textContent.replace(/¶|#$/g, "").trim()];
    if (!template) return [];
    const names = [...table.querySelectorAll("thead th")].map((head) =>
      head.textContent.trim().startsWith("result") ? null : (head.querySelector("code") || head).textContent.trim());
    return [...table.querySelectorAll("tbody tr")].map((row) => {
      const operands = {};
      let text = template;
      [...row.children].forEach((cell, i) => {
        const code = cell.querySelector("code");
        if (!names[i] || !code) return;
        const value = code.textContent.trim();
        if (text.includes("$" + names[i])) text = text.replace("$" + names[i], value);
        else operands[registerOf(names[i])] = value;
      });
      return { row, text, operands };
    });
  };

  const quoted = (text) => (/[^\w=.:,+-]/.test(text) ? `'${text}'` : text);
  const commandOf = (text, operands, profile) =>
    ["ptxspec", "eval", quoted(text), ...Object.entries(operands).map(([n, v]) => quoted(`${n}=${v}`)),
      ...(profile === "hopper" ? [] : ["--profile", profile])].join(" ");

  const copy = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea", { style: "position:fixed;opacity:0" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const before = button.textContent;
    button.textContent = "copied";
    setTimeout(() => { button.textContent = before; }, 1200);
  };

  // The worker ------------------------------------------------------------------------------------------------------------------

  const taken = {};
  let worker = null, asked = 0, waiting = new Map();

  const script = (address) => new Promise((done, failed) => {
    document.head.append(make("script", { src: address, onload: done,
      onerror: () => failed(new Error(`${address} could not be loaded`)) }));
  });

  // The bytes of a text that has 15 bits in each character (site/trying/archive.py).
  const bytesOf = (size, text) => {
    const bytes = new Uint8Array(size);
    for (let i = 0, at = 0, held = 0, bits = 0; at < size; i++) {
      held = (held << 15) | (text.charCodeAt(i) - 0x100);
      for (bits += 15; bits >= 8 && at < size; held &= (1 << bits) - 1) bytes[at++] = held >> (bits -= 8);
    }
    return bytes;
  };

  const unpacked = (bytes) =>
    new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();

  const ask = (message, seconds) => new Promise((done, failed) => {
    const id = ++asked;
    const timer = setTimeout(() => {
      worker.terminate();
      worker = null;
      waiting.clear();
      failed(new Error(`There was no answer within ${seconds} seconds.`));
    }, seconds * 1000);
    waiting.set(id, (data) => {
      clearTimeout(timer);
      if (data.failure) failed(new Error(data.failure));
      else done(data.answer);
    });
    worker.postMessage({ id, ...message });
  });

  let beginning = null;
  const begun = () => beginning || (beginning = (async () => {
    if (!Object.keys(taken).length) {
      ptxspecTrying.take = (name, size, text) => { taken[name] = bytesOf(size, text); };
      await Promise.all(given.files.map((name) => script(`${home}_static/trying/${name}`)));
    }
    const source = await unpacked(taken.worker);
    worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    const { worker: _, ...files } = taken;
    worker.onmessage = ({ data }) => { const done = waiting.get(data.id); waiting.delete(data.id); if (done) done(data); };
    worker.onerror = (event) => { for (const done of waiting.values()) done({ failure: event.message || "the worker failed" }); };
    await ask({ files }, 120);
  })().catch((error) => { beginning = null; throw error; }));

  const question = async (what) => {
    await begun();
    try {
      return await ask({ question: what }, 20);
    } catch (error) {
      if (!worker) beginning = null;
      throw error;
    }
  };

  // The box -----------------------------------------------------------------------------------------------------------------------

  const title = make("p", { class: "trying-title" }, "Try it");
  const button = make("button", { type: "button", class: "trying-open", onclick: () => open(null) }, "Try it");
  const note = make("span", { class: "trying-note" },
    ` Computes in your browser, by the definitions of this page. ${given.megabytes} MB are loaded, once.`);
  const status = make("p", { class: "trying-status", role: "status" });
  if (given.missing) {
    place.append(make("p", { class: "trying-note" }, `This copy of the site cannot evaluate instructions: ${given.missing}.`));
  } else {
    place.append(button, note, status);
  }

  let box = null;
  const state = { mnemonics: [], profiles: [], text: "", operands: {}, profile: "hopper" };

  const opened = () => {
    const picker = make("fieldset", { class: "trying-form" }, make("legend", {}, "Form"));
    const text = make("input", { type: "text", id: "trying-text", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
      oninput: () => { state.text = text.value; evaluate(); } });
    const operands = make("fieldset", { class: "trying-operands" }, make("legend", {}, "Operands"));
    const profile = make("select", { id: "trying-profile", onchange: () => { state.profile = profile.value; evaluate(); } },
      ...state.profiles.map((name) => make("option", { value: name }, name)));
    const profiles = make("p", { class: "trying-profile", hidden: true },
      make("label", { for: "trying-profile" }, "What PTX leaves open is chosen by the profile "), profile);
    const results = make("div", { class: "trying-results", role: "region", "aria-label": "Results", "aria-live": "polite", "aria-atomic": "true" });
    const line = make("button", { type: "button", onclick: () => copy(commandOf(state.text, shownOperands(), state.profile), line) }, "copy as ptxspec eval");
    box = { picker, text, operands, profile, profiles, results };
    place.replaceChildren(title, picker,
      make("p", { class: "trying-text" }, make("label", { for: "trying-text" }, "Instruction "), text),
      operands, profiles, results, make("p", { class: "trying-copy" }, line), status);
    frame();
  };

  const shownOperands = () => Object.fromEntries([...box.operands.querySelectorAll("[data-operand]")].map((e) => [e.dataset.operand, e.value.trim()]));

  // The words of a mnemonic, one select each: every word that goes on from those before it. "" ends the mnemonic.
  const wordsOf = (mnemonic) => mnemonic.split(/(?=\.)/);

  const pick = (wanted) => {
    box.picker.replaceChildren(box.picker.firstChild);
    let left = state.mnemonics.map(wordsOf);
    const chosen = [];
    for (let i = 0; left.length; i++) {
      const options = [...new Set(left.map((words) => words[i] || ""))];
      if (options.length === 1 && !options[0]) break;
      const word = options.includes(wanted[i] || "") ? wanted[i] || "" : options[0];
      chosen.push(word);
      left = left.filter((words) => (words[i] || "") === word);
      if (options.length === 1) {
        box.picker.append(make("code", { class: "trying-word" }, word));
        continue;
      }
      const list = make("select", { class: "trying-word", "aria-label": i ? `modifier ${i}` : "opcode", onchange: () => {
        const words = [...box.picker.querySelectorAll(".trying-word")].map((e) => (e.tagName === "CODE" ? e.textContent : e.value));
        choose(pick(words));
        box.picker.querySelectorAll(".trying-word")[i].focus();
      } }, ...options.map((option) => make("option", { value: option, selected: option === word }, option || "(none)")));
      box.picker.append(list);
      if (!word) break;
    }
    return chosen.join("");
  };

  const choose = async (mnemonic) => {
    const found = await guarded(question({ page, mnemonic }));
    if (!found) return;
    const texts = found.map((text) => text.replace(/\$\w+/g, "1"));
    if (texts.length > 1) {
      const list = make("select", { "aria-label": "operands of the instruction", onchange: () => { box.text.value = state.text = list.value; evaluate(); } },
        ...texts.map((text) => make("option", { value: text }, text.slice(text.indexOf(" ") + 1))));
      box.picker.append(list);
    }
    box.text.value = state.text = texts[0];
    await evaluate();
  };

  const guarded = async (promise) => {
    try {
      return await promise;
    } catch (error) {
      status.textContent = `This could not be computed: ${error.message}`;
      return null;
    }
  };

  // One question at a time: what is typed while an answer is on its way is asked when it has come, and only as it stands then.
  let answering = null, changed = false, answers = 0;
  const evaluate = () => {
    changed = true;
    answering = answering || (async () => {
      const slow = setTimeout(() => { status.textContent = "Computing …"; }, 500);
      while (changed) {
        changed = false;
        Object.assign(state.operands, shownOperands());
        const found = await guarded(question({ text: state.text, operands: state.operands, profile: state.profile }));
        clearTimeout(slow);
        if (!found || changed) continue;
        status.textContent = "";
        showOperands(found.operands);
        box.profiles.hidden = !found.open;
        box.results.replaceChildren(...shown(found));
        place.dataset.answered = String(++answers);
      }
      answering = null;
    })();
    return answering;
  };

  const showOperands = (operands) => {
    const key = JSON.stringify(operands.map(({ name, type }) => [name, type]));
    if (operands.length && key !== box.operands.dataset.key) {
      box.operands.dataset.key = key;
      box.operands.replaceChildren(box.operands.firstChild, ...operands.map(({ name, type, predicate }, i) => {
        const id = `trying-operand-${i}`;
        const input = predicate
          ? make("select", { id, "data-operand": name, onchange: evaluate }, make("option", {}, "true"), make("option", {}, "false"))
          : make("input", { id, type: "text", "data-operand": name, spellcheck: "false", autocomplete: "off", autocapitalize: "off", oninput: evaluate });
        return make("label", { for: id }, make("code", {}, name), ` ${type} `, input);
      }));
    }
    box.operands.hidden = !box.operands.querySelector("[data-operand]");
    for (const { name, text } of operands) {
      const input = box.operands.querySelector(`[data-operand="${CSS.escape(name)}"]`);
      if (input && input !== document.activeElement && input.value.trim() !== text) input.value = text;
    }
  };

  const linked = (entry, text) => (entry ? make("a", { href: home + entry.page }, `${entry.number} ${text}`) : text);

  const shown = ({ results, chosen, error, entry }) => {
    const found = results.map(({ name, type, readings }) => make("p", { class: "trying-result", "data-result": name },
      make("code", {}, name), ` ${type} = `,
      ...readings.map(([label, value]) => make("span", { class: "trying-reading", "data-reading": label }, make("code", {}, value), make("small", {}, ` ${label}`)))));
    for (const one of chosen) {
      found.push(make("p", { class: "trying-open-result" }, `${one.kind}: `, linked(one.entry, one.slug), ` is ${one.bits}, ${one.by}`));
    }
    if (error) found.push(make("p", { class: "trying-error" }, error, ...(entry ? [" (", linked(entry, "in the register"), ")"] : [])));
    return found;
  };

  // The box of a program: its text, fields for the values that go in, and what it leaves -----------------------------------------------

  const scrolled = (name, caption, head, rows) => make("div", { class: "trying-scrolled", tabindex: "0", role: "region", "aria-label": caption },
    make("table", { "data-table": name }, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...rows.map(([first, ...cells]) => make("tr", {}, make("th", { scope: "row" }, first),
        ...cells.map((text) => make("td", {}, make("code", {}, text))))))));

  const readingsOf = (readings) => readings.map(([label, value]) =>
    make("span", { class: "trying-reading", "data-reading": label }, make("code", {}, value), make("small", {}, ` ${label}`)));

  const left = ({ error, threads, count, alike, different, memory, printed }) => {
    const found = [];
    if (error) found.push(make("p", { class: "trying-error trying-program-error", tabindex: "0" }, error));
    if (alike.length) {
      found.push(make("p", { class: "trying-left" }, count > 1 ? `Each of the ${count} threads ends with` : "The thread ends with"));
      found.push(...alike.map(({ name, type, readings }) => make("p", { class: "trying-result", "data-result": name },
        make("code", {}, name), ` ${type} = `, ...readingsOf(readings))));
    }
    if (different.length) {
      const more = count > threads.length ? `, the first ${threads.length} of ${count}` : "";
      found.push(scrolled("registers", `Registers that differ from thread to thread${more}`,
        ["thread", ...different.map(({ name, type }) => `${name} ${type}`)],
        threads.map((thread, i) => [thread, ...different.map(({ values }) => values[i])])));
    }
    for (const { name, type, rows, count: changed } of memory) {
      const more = changed > rows.length ? `, the first ${rows.length} of ${changed} elements` : "";
      found.push(scrolled(name, `Memory that has changed: ${name} ${type}${more}`, ["place", "before", "after"],
        rows.map(({ place: at, before, after }) => [at, before, after])));
    }
    if (printed) found.push(make("p", { class: "trying-left" }, "Printed:"), make("p", { class: "trying-printed" }, make("code", {}, printed)));
    if (!found.length) found.push(make("p", { class: "trying-left" }, "The program has ended. No register is used, and no memory has changed."));
    else if (!error && !memory.length) found.push(make("p", { class: "trying-left" }, "No variable of the module has changed."));
    return found;
  };

  const showFields = (list, fields, run) => {
    const key = JSON.stringify(fields.map(({ name, type }) => [name, type]));
    if (key !== list.dataset.key) {
      list.dataset.key = key;
      list.replaceChildren(list.firstChild, ...fields.map(({ name, type }, i) => make("label", { for: `trying-field-${i}` },
        make("code", {}, name), ` ${type} `,
        make("input", { id: `trying-field-${i}`, type: "text", "data-field": name, spellcheck: "false", autocomplete: "off", autocapitalize: "off",
          onkeydown: (event) => { if (event.key === "Enter" && !event.ctrlKey) run(); } }))));
    }
    list.hidden = !fields.length;
    fields.forEach(({ text }, i) => { list.querySelector(`#trying-field-${i}`).value = text; });
  };

  const openProgram = ({ program, fields }) => {
    const text = make("textarea", { id: "trying-program", rows: String(Math.min(30, program.split("\n").length)), spellcheck: "false",
      autocomplete: "off", autocapitalize: "off", wrap: "off" });
    text.value = program;
    const list = make("fieldset", { class: "trying-operands" }, make("legend", {}, "Values"));
    const results = make("div", { class: "trying-results", role: "region", "aria-label": "What the program leaves", "aria-live": "polite" });
    let runs = 0, running = false;
    const runButton = make("button", { type: "button", class: "trying-open", onclick: () => run() }, "Run");
    // what was typed into a field goes into the text; a field whose text was changed beside it keeps to the text
    const typed = () => Object.fromEntries([...list.querySelectorAll("[data-field]")]
      .filter((e) => e.value.trim() !== shown[e.dataset.field]).map((e) => [e.dataset.field, e.value]));
    let shown = {};
    const put = (found) => {
      showFields(list, found, run);
      shown = Object.fromEntries(found.map(({ name, text: own }) => [name, own]));
    };
    const run = async () => {
      if (running) return;
      running = true;
      runButton.disabled = true;
      const slow = setTimeout(() => { status.textContent = "Running …"; }, 300);
      const before = text.value;
      const found = await guarded(question({ program: before, values: typed() }));
      clearTimeout(slow);
      running = false;
      runButton.disabled = false;
      if (!found) results.replaceChildren();
      else {
        status.textContent = "";
        if (text.value === before) text.value = found.program;
        if (found.fields.length || !found.error) put(found.fields);
        results.replaceChildren(...left(found));
      }
      place.dataset.answered = String(++runs);
    };
    place.replaceChildren(title,
      make("p", { class: "trying-program" }, make("label", { for: "trying-program" }, "Program"), text),
      list, make("p", { class: "trying-run" }, runButton, " ", make("kbd", {}, "Ctrl+Enter")), results, status);
    put(fields);
    place.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
    });
    frame();
    title.focus();
    return run();
  };

  const frame = () => {
    place.classList.add("trying-opened");
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", "Try it");
    title.tabIndex = -1;
  };

  const rows = [...document.querySelectorAll(".corner-cases table")].flatMap(rowsOf);

  const put = async ({ text, operands }) => {
    const mnemonic = text.split(" ")[0];
    if (state.mnemonics.includes(mnemonic)) pick(wordsOf(mnemonic));
    state.operands = { ...operands };
    box.operands.dataset.key = "";
    box.operands.replaceChildren(box.operands.firstChild);
    box.text.value = state.text = text;
    await evaluate();
  };

  const isTelling = ({ operands }) => Object.values(operands).every((value) => !/^(0x0*|false)$/.test(value));

  const open = async (row) => {
    if (!box) {
      button.disabled = true;
      status.textContent = "Loading Python and the definitions …";
      const found = await guarded(question({ page }));
      button.disabled = false;
      if (!found) return;
      if (found.program) {
        status.textContent = "";
        return openProgram(found);
      }
      Object.assign(state, found);
      opened();
      title.focus();
      if (!row && !rows.length) return choose(pick(wordsOf(state.mnemonics[0])));
    }
    await put(row || rows.find(isTelling) || rows[0]);
    if (row) {
      place.scrollIntoView({ block: "nearest" });
      title.focus({ preventScroll: true });
    }
  };

  for (const table of new Set(rows.map(({ row }) => row.closest("table")))) {
    table.querySelector("thead tr").append(
      make("th", { class: "trying-buttons", scope: "col" }, make("span", { class: "trying-hidden" }, "Try it")));
  }
  for (const row of rows) {
    const line = make("button", { type: "button", title: "copy as a line of ptxspec eval",
      "aria-label": "copy this row as a line of ptxspec eval", onclick: () => copy(commandOf(row.text, row.operands, "hopper"), line) }, "copy");
    const into = make("button", { type: "button", title: "put this row into the box", "aria-label": "put this row into the box Try it",
      onclick: () => open(row) }, "try");
    row.row.append(make("td", { class: "trying-buttons" }, ...(given.missing ? [line] : [into, line])));
  }
})();
