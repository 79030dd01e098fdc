"use strict";
(() => {
  const root = document.documentElement, view = document.getElementById("view");
  root.classList.add("scripted");

  // ---- one card at a time, marked in the graph
  const choose = (id) => {
    const card = id && document.getElementById(id);
    if (!card || !card.classList.contains("card")) return null;
    clear();
    card.classList.add("chosen");
    for (const spot of document.querySelectorAll(".spot")) {
      const leads = spot.getAttribute("href") === "#" + id;
      spot.classList.toggle("chosen", leads);
      if (leads) spot.setAttribute("aria-current", "true");
    }
    return card;
  };
  const clear = () => {
    for (const old of document.querySelectorAll(".chosen")) {
      old.classList.remove("chosen");
      old.removeAttribute("aria-current");
    }
  };
  // An address in a file may not be replaced everywhere.
  const remember = (hash) => {
    try { history.replaceState(null, "", hash || location.pathname + location.search); } catch { /* not remembered */ }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    const card = link && choose(link.getAttribute("href").slice(1));
    if (!card) return;
    event.preventDefault();
    remember(link.getAttribute("href"));
    if (!link.classList.contains("spot")) show(card.id);
    (document.querySelector(".stage") || card).scrollIntoView({block: "nearest"});
  });
  addEventListener("hashchange", () => choose(location.hash.slice(1)) && show(location.hash.slice(1)));

  // ---- the graph: each picture shows the same part of the drawing
  const pictures = view ? [...view.querySelectorAll(".picture > svg")] : [];
  if (pictures.length === 0) {
    choose(location.hash.slice(1));
    return;
  }
  const whole = pictures[0].viewBox.baseVal, size = {width: whole.width, height: whole.height};
  const least = 0.02, most = 4, step = 1.2, move = 60, margin = 12;
  let zoom = 1, left = 0, top = 0;  // the part in sight begins there, in the drawing's units
  const room = () => ({width: view.clientWidth, height: view.clientHeight});

  const draw = () => {
    const {width, height} = room(), wide = width / zoom, high = height / zoom;
    // Some of the drawing stays in sight.
    left = Math.min(Math.max(left, 40 - wide), size.width - 40);
    top = Math.min(Math.max(top, 40 - high), size.height - 40);
    for (const picture of pictures) picture.setAttribute("viewBox", `${left} ${top} ${wide} ${high}`);
    document.getElementById("zoom-value").textContent = Math.round(zoom * 100) + "%";
  };
  const zoomTo = (wanted, x = room().width / 2, y = room().height / 2) => {
    const next = Math.min(Math.max(wanted, least), most);
    left += x / zoom - x / next;
    top += y / zoom - y / next;
    zoom = next;
    draw();
  };
  const placeAt = (value) => {
    zoom = value;
    left = (size.width - room().width / zoom) / 2;
    top = Math.min((size.height - room().height / zoom) / 2, -margin);
    draw();
  };
  const fitting = () => Math.min(room().width / size.width, room().height / size.height, 1);
  const fit = () => { placeAt(fitting()); top = (size.height - room().height / zoom) / 2; draw(); };
  // All of it where it can be read like that, else its beginning.
  const begin = () => fitting() > 0.7 ? fit() : placeAt(Math.max(Math.min(room().width / size.width, 1), 0.6));
  const boxOf = (spot) => Object.fromEntries(["x", "y", "width", "height"].map(
      (name) => [name, spot.querySelector("rect")[name].baseVal.value]));  // getBBox is empty where it is hidden
  const show = (id) => {
    const spot = pictures[0].querySelector(`.spot[href="#${id}"]`);
    if (!spot) return;
    const box = boxOf(spot), {width, height} = room();
    left = box.x + box.width / 2 - width / zoom / 2;
    top = box.y + box.height / 2 - height / zoom / 2;
    draw();
  };

  view.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = view.getBoundingClientRect(), lines = event.deltaMode === 1 ? 40 : 1;
    zoomTo(zoom * Math.exp(-event.deltaY * lines / 500), event.clientX - at.left, event.clientY - at.top);
  }, {passive: false});
  let pressed = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.button === 0) pressed = {x: event.clientX, y: event.clientY, moved: false};
  });
  view.addEventListener("pointermove", (event) => {
    if (!pressed) return;
    const x = event.clientX - pressed.x, y = event.clientY - pressed.y;
    if (!pressed.moved && Math.hypot(x, y) < 4) return;
    if (!pressed.moved) view.setPointerCapture(event.pointerId);
    pressed = {x: event.clientX, y: event.clientY, moved: true};
    view.classList.add("dragged");
    left -= x / zoom;
    top -= y / zoom;
    draw();
  });
  let wasDragged = false;
  const release = () => {
    wasDragged = pressed !== null && pressed.moved;
    pressed = null;
    view.classList.remove("dragged");
  };
  view.addEventListener("pointerup", release);
  view.addEventListener("pointercancel", release);
  view.addEventListener("dragstart", (event) => event.preventDefault());  // of a link
  view.addEventListener("click", (event) => {  // A drag that ends on a norm does not select it.
    if (!wasDragged) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);

  const turn = () => {
    const choices = [...document.querySelectorAll(".switch input")];
    const next = (choices.findIndex((choice) => choice.checked) + 1) % choices.length;
    const norm = document.activeElement.closest(".spot");
    choices[next].checked = true;
    if (norm) pictures[next].querySelector(`.spot[href="${norm.getAttribute("href")}"]`).focus({preventScroll: true});
  };
  const keys = {
    ArrowLeft: () => { left -= move / zoom; draw(); },
    ArrowRight: () => { left += move / zoom; draw(); },
    ArrowUp: () => { top -= move / zoom; draw(); },
    ArrowDown: () => { top += move / zoom; draw(); },
    "+": () => zoomTo(zoom * step),
    "=": () => zoomTo(zoom * step),
    "-": () => zoomTo(zoom / step),
    "0": fit,
    b: turn,
    Escape: () => { clear(); remember(""); },
  };
  view.addEventListener("keydown", (event) => {
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
  view.addEventListener("focusin", (event) => {  // A norm that the Tab key reaches comes into sight.
    const spot = event.target.closest(".spot");
    if (!spot || !spot.matches(":focus-visible")) return;
    const box = boxOf(spot), {width, height} = room();
    const inSight = box.x >= left && box.y >= top && box.x + box.width <= left + width / zoom &&
        box.y + box.height <= top + height / zoom;
    if (!inSight) show(spot.getAttribute("href").slice(1));
    view.scrollIntoView({block: "nearest"});  // the browser went to where the norm was
  });
  document.getElementById("zoom-in").addEventListener("click", () => zoomTo(zoom * step));
  document.getElementById("zoom-out").addEventListener("click", () => zoomTo(zoom / step));
  document.getElementById("zoom-fit").addEventListener("click", fit);
  new ResizeObserver(draw).observe(view);
  begin();
  if (choose(location.hash.slice(1))) {
    show(location.hash.slice(1));
    addEventListener("load", () => document.querySelector(".stage").scrollIntoView({block: "nearest"}));
  }
})();
