"use strict";
// Shows the coordinator's status as it changes. All text is put in as text, never as markup.
(() => {
  const KEY = "tradewind-secret";
  const GOOD = new Set(["alive", "running", "ended", "reached"]);
  const BAD = new Set(["gone", "failed", "revoked", "cut off"]);
  const SHORTEST_WAIT = 1000, LONGEST_WAIT = 15000, LONGEST_SILENCE = 30000;
  const at = (id) => document.getElementById(id);
  let asking = null, wait = SHORTEST_WAIT;

  // --- figures -----------------------------------------------------------------------------------------------
  const known = (value) => value !== null && value !== undefined;
  const count = (value) => (known(value) ? Math.round(value).toLocaleString("en") : "–");
  const rate = (value) => (known(value) ? value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 }) : "–");
  const seconds = (value) => (known(value) ? `${value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 })} s` : "–");
  function bytes(value, unit = "B") {
    if (!known(value)) return "–";
    const steps = ["", "k", "M", "G", "T", "P"];
    let step = 0;
    while (value >= 1000 && step < steps.length - 1) { value /= 1000; step += 1; }
    return `${value.toLocaleString("en", { maximumFractionDigits: value < 10 && step ? 1 : 0 })} ${steps[step]}${unit}`;
  }
  const perSecond = (value) => bytes(value, "B/s");
  const sum = (values) => values.reduce((all, one) => all + (one || 0), 0);
  const kind = (word) => (GOOD.has(word) ? "good" : BAD.has(word) ? "bad" : "warn");

  // --- cells -------------------------------------------------------------------------------------------------
  function cell(text, name = "") {
    const made = document.createElement("td");
    made.textContent = known(text) ? text : "–";
    made.className = name;
    return made;
  }
  const number = (text) => cell(text, "number");
  const state = (word) => cell(word, kind(word));
  const problem = (text) => cell(text || "", "free bad");
  function bars(measured, predicted, longest) {
    const made = cell("", "bars");
    made.textContent = "";
    for (const [name, value] of [["measured", measured], ["predicted", predicted]]) {
      if (!known(value)) continue;
      const bar = document.createElement("i");
      bar.className = name;
      bar.style.width = `${longest > 0 ? (100 * value) / longest : 0}%`;
      bar.title = `${name}: ${perSecond(value)}`;
      made.append(bar);
    }
    return made;
  }
  function fill(id, rows) {
    const body = at(id);
    const lines = rows.map((cells) => {
      const line = document.createElement("tr");
      line.append(...cells);
      return line;
    });
    if (!lines.length) {
      const none = cell("none", "empty");
      none.colSpan = body.parentElement.querySelectorAll("th").length;
      const line = document.createElement("tr");
      line.append(none);
      lines.push(line);
    }
    body.replaceChildren(...lines);
  }

  // --- sections ----------------------------------------------------------------------------------------------
  function facts(status, sites, links) {
    const alive = sites.filter(([, site]) => site.state === "alive").length;
    const fragments = sites.flatMap(([, site]) => Object.values(site.fragments || {}));
    const measured = sum(links.map((link) => link.measured_bytes_per_second));
    const predicted = sum(links.map((link) => link.predicted_bytes_per_second));
    const told = [
      [status.state || "–", status.until_done ? "until all is read" : "state"],
      [count(status.epoch), "epoch"],
      [`${alive} of ${sites.length}`, "sites alive"],
      [rate(sum(fragments.map((one) => one.rows_per_second))), "rows a second"],
      [perSecond(measured), `over all links; ${perSecond(predicted)} predicted`],
      [bytes(sum(links.map((link) => link.backlog_bytes))), "waiting before links"],
    ];
    at("facts").replaceChildren(...told.map(([figure, what]) => {
      const item = document.createElement("li"), strong = document.createElement("b");
      strong.textContent = figure;
      item.append(strong, what);
      return item;
    }));
  }
  function siteRow([name, site]) {
    const fragments = Object.values(site.fragments || {});
    const running = fragments.filter((one) => one.state === "running").length;
    const failed = fragments.filter((one) => one.state === "failed").length;
    const some = fragments.length ? `${running} of ${fragments.length} running` : "none";
    const took = fragments.map((one) => one.seconds).filter(known);
    return [
      cell(name), state(site.state),
      number(known(site.seen_seconds_ago) ? `${seconds(site.seen_seconds_ago)} ago` : "–"), number(count(site.epoch)),
      cell(failed ? `${some}, ${failed} failed` : some, failed ? "bad" : ""),
      number(rate(sum(fragments.map((one) => one.rows_per_second)))),
      number(seconds(took.length ? Math.max(...took) : null)), number(bytes(site.memory_bytes)),
      number(count(site.cores)), problem(site.problem),
    ];
  }
  function linkRow(link, longest) {
    const measured = link.measured_bytes_per_second, predicted = link.predicted_bytes_per_second;
    return [
      cell(`${link.from} → ${link.to}`), state(link.reached === false ? "cut off" : known(link.reached) ? "reached" : null),
      number(bytes(link.bytes)), number(count(link.rows)), number(bytes(link.backlog_bytes)),
      number(perSecond(measured)), number(perSecond(predicted)), bars(measured, predicted, longest),
    ];
  }
  function queryRow([name, query]) {
    const since = new Map((query.waits_for || []).map((one) => [one.origin, seconds(one.seconds)]));
    const missing = (query.missing || []).map((name) => since.has(name) ? `${name} for ${since.get(name)}` : name);
    return [
      cell(name), cell(query.site), number(count(query.final)), number(count(query.tentative)),
      number(seconds(query.behind_seconds)), cell(missing.join(", "), missing.length ? "free warn" : "free"),
    ];
  }
  function fragmentRow(site, [name, one]) {
    return [
      cell(site), cell(name), state(one.state), number(count(one.batch)), number(count(one.rows)),
      number(rate(one.rows_per_second)), number(seconds(one.seconds)), problem(one.problem),
    ];
  }
  function show(status) {
    const sites = Object.entries(status.sites || {}), links = status.links || [];
    const rates = links.flatMap((link) => [link.measured_bytes_per_second || 0, link.predicted_bytes_per_second || 0]);
    const longest = Math.max(0, ...rates);
    at("deployment").textContent = status.deployment || "nothing is deployed";
    document.title = status.deployment ? `${status.deployment} · Tradewind` : "Tradewind";
    facts(status, sites, links);
    fill("queries", Object.entries(status.queries || {}).map(queryRow));
    fill("sites", sites.map(siteRow));
    fill("links", links.map((link) => linkRow(link, longest)));
    fill("fragments", sites.flatMap(([site, { fragments }]) => Object.entries(fragments || {}).map((one) => fragmentRow(site, one))));
    at("shown").hidden = false;
    const leads = !status.coordinator || status.coordinator.leader !== false;
    live(leads ? "live" : "live, from a coordinator that does not lead", leads ? "good" : "warn");
  }
  function live(text, name) {
    at("live").textContent = text;
    at("live").className = name;
  }

  // --- listening ---------------------------------------------------------------------------------------------
  function heard(block) {
    const fields = { event: "message", data: "" };
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
    }
    if (fields.event === "status") { wait = SHORTEST_WAIT; show(JSON.parse(fields.data)); }
    if (fields.event === "problem") throw new Error(JSON.parse(fields.data).what);
  }
  async function listen(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let kept = "";
    for (;;) {
      // It speaks every ten seconds: a connection that is silent for longer is dead, and may not know it.
      const silence = setTimeout(() => reader.cancel(), LONGEST_SILENCE);
      const { value, done } = await reader.read().finally(() => clearTimeout(silence));
      if (done) throw new Error("the coordinator ended the connection");
      const blocks = (kept + value).split("\n\n");
      kept = blocks.pop();
      blocks.forEach(heard);
    }
  }
  async function watch() {
    const stopped = new AbortController();
    asking = stopped;
    while (!stopped.signal.aborted) {
      let pause = wait;
      try {
        const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY)}` };
        const response = await fetch("v1/events", { headers, signal: stopped.signal, cache: "no-store" });
        if (response.status === 401) { leave("the secret is wrong"); return; }
        if (!response.ok) {
          pause = Math.max(wait, 1000 * Number(response.headers.get("Retry-After") || 0));
          throw new Error((await response.json()).what);
        }
        await listen(response);
      } catch (error) {
        if (stopped.signal.aborted) return;
        live(`${error.message}; next try in ${Math.round(pause / 1000)} s`, "bad");
      }
      await new Promise((then) => { setTimeout(then, pause); });
      wait = Math.min(2 * wait, LONGEST_WAIT);
    }
  }
  function enter() {
    at("door").hidden = true;
    at("leave").hidden = false;
    live("connecting", "warn");
    watch();
  }
  function leave(why) {
    if (asking) asking.abort();
    sessionStorage.removeItem(KEY);
    at("shown").hidden = true;
    at("leave").hidden = true;
    at("door").hidden = false;
    at("deployment").textContent = "";
    live(why, "bad");
    at("secret").focus();
  }
  at("door").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, at("secret").value.trim());
    at("secret").value = "";
    enter();
  });
  at("leave").addEventListener("click", () => leave("the secret is forgotten"));
  if (sessionStorage.getItem(KEY)) enter(); else { at("door").hidden = false; at("secret").focus(); }
})();
