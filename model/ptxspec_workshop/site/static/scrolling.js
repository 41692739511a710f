// A table that is wider than its box scrolls: then the keyboard reaches the box too, and a screen reader names it.
(() => {
  const named = (box) => {
    const caption = box.querySelector("caption");
    return caption ? caption.textContent.trim() : "Table";
  };
  const mark = (box) => {
    if (box.getAttribute("role") === "tabpanel") return;
    const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (scrolls === box.hasAttribute("tabindex")) return;
    if (scrolls) {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", named(box));
    } else for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
  };
  const start = () => {
    const sizes = new ResizeObserver((changes) => changes.forEach((change) => mark(change.target)));
    document.querySelectorAll(".table-wrapper").forEach((box) => sizes.observe(box));
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
