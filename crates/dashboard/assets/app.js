// What makes the pages live. Everything else is HTML: without these modules the pages are complete and read-only.
// @ts-check
import "./theme.js";
import "./copy.js";
import "./times.js";
import "./select.js";
import "./forms.js";
import "./ask.js";
import "./mirror.js";
import "./picture.js";
import "./events.js";
import "./keyboard.js";
import "./live.js";
