(function () {
  "use strict";
  // Copying needs a script; without one the button is not there.
  function prepare(root) {
    root.querySelectorAll("button[data-copies]").forEach(function (button) {
      var source = document.getElementById(button.getAttribute("data-copies"));
      if (!source || !navigator.clipboard) { return; }
      button.hidden = false;
      button.addEventListener("click", function () {
        navigator.clipboard.writeText(source.textContent).then(function () {
          var before = button.textContent;
          button.textContent = "Copied";
          setTimeout(function () { button.textContent = before; }, 2000);
        });
      });
    });
    // A field that is clicked is written where somebody types; without a script its name stands there.
    root.querySelectorAll("button[data-inserts]").forEach(function (button) {
      var target = document.getElementById(button.getAttribute("data-into"));
      if (!target) { return; }
      button.hidden = false;
      if (button.nextElementSibling) { button.nextElementSibling.hidden = true; }
      button.addEventListener("click", function () {
        target.setRangeText(button.getAttribute("data-inserts"), target.selectionStart, target.selectionEnd, "end");
        target.dispatchEvent(new Event("input", { bubbles: true }));
        target.focus();
      });
    });
  }
  prepare(document);
  document.addEventListener("htmx:afterSwap", function (event) { prepare(event.target); });
  // What stands in the way is read out, and shown, at once.
  var problems = document.querySelector(".problems[tabindex]");
  if (problems) { problems.focus(); }
})();
