// Puts the tree of all pages beside the page that loads this, marks the page in it, and opens the chapter that it belongs to.
((tree) => {
  const script = document.currentScript, own = `${script.dataset.page}.html`;
  const root = document.documentElement.dataset.content_root || "./";
  const made = document.createElement("template");
  made.innerHTML = tree;
  for (const link of made.content.querySelectorAll("a")) {
    const address = link.getAttribute("href");
    if (address !== own) {
      link.setAttribute("href", root + address);
      continue;
    }
    link.setAttribute("href", "#");
    link.setAttribute("aria-current", "page");
    link.classList.add("current");
    let item = link.closest("li");
    item.classList.add("current-page");
    for (; item; item = item.parentElement.closest("li")) {
      item.classList.add("current");
      const opened = item.querySelector(":scope > .toctree-checkbox");
      if (opened) opened.checked = true;
    }
  }
  script.after(made.content);
})
