
(function () {
  "use strict";
  function value(cell) {
    var text = cell.textContent.trim();
    var number = parseFloat(text.replace(/,/g, "").replace(/^\u2212/, "-"));
    return isNaN(number) ? (/\w/.test(text) ? text.toLowerCase() : null) : number;
  }
  function compare(a, b, down) {  // what is not there stays at the end, in either order
    if (a === null || b === null) { return (a === null) - (b === null); }
    var order = typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;
    return down ? -order : order;
  }
  document.querySelectorAll("table[data-sortable]").forEach(function (table) {
    var body = table.tBodies[0];
    if (body.rows.length < 3) { return; }
    table.querySelectorAll("thead th").forEach(function (head, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.append.apply(button, Array.from(head.childNodes));
      head.appendChild(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("thead th").forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        Array.from(body.rows).map(function (row, place) { return [value(row.cells[column]), place, row]; })
          .sort(function (a, b) { return compare(a[0], b[0], down) || a[1] - b[1]; })
          .forEach(function (entry) { body.appendChild(entry[2]); });
      });
    });
    if (body.rows.length < 9) { return; }
    var label = document.createElement("label");
    var input = document.createElement("input");
    var told = document.createElement("span");
    label.className = "filter";
    input.type = "search";
    told.setAttribute("role", "status");
    label.append("Only rows with ", input, told);
    input.addEventListener("input", function () {
      var wanted = input.value.toLowerCase(), shown = 0;
      Array.from(body.rows).forEach(function (row) {
        row.hidden = row.textContent.toLowerCase().indexOf(wanted) < 0;
        shown += row.hidden ? 0 : 1;
      });
      told.textContent = wanted ? shown + " of " + body.rows.length : "";
    });
    table.parentNode.parentNode.before(label);
  });
  function told() {  // where something is wider than its frame, it says so
    document.querySelectorAll(".scrolled").forEach(function (frame) {
      var wider = Array.from(frame.querySelectorAll(".scroll")).some(function (box) {
        return box.scrollWidth > box.clientWidth + 1;
      });
      frame.classList.toggle("wider", wider);
    });
  }
  told();
  window.addEventListener("resize", told);
  document.addEventListener("toggle", told, true);
})();
