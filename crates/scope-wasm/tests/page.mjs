// Drives the page in Chromium, as a person would: places sensors with pointer and keyboard, compares fields and errors
// with the program's, opens files, at the widths of a desktop and of a phone.
//
//     node crates/scope-wasm/tests/page.mjs ADDRESS [FOLDER-FOR-SCREENSHOTS]
//
// ADDRESS is where `scope serve` listens. CHROMIUM names the browser, /usr/bin/chromium otherwise.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { difference, fieldOf, recoverExactly, recoverNatively, repository } from "./native.mjs";

// Installed by scripts/checks/check-page.sh, outside the tree.
const { chromium } = createRequire(join(repository, "target/page-tests/"))("playwright-core");
const [address, pictures] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "scope-chromium-"));
if (pictures) mkdirSync(pictures, { recursive: true });

const quiet = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launchPersistentContext(folder, {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--headless", ...quiet],
});

/// Opens the page at a record, and waits for its first fields.
async function open(hash, viewport, colorScheme = "light") {
  const page = await browser.newPage();
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(viewport);
  page.on("pageerror", (error) => assert.fail(`the page failed: ${error.message}`));
  await page.goto(`${address}/#${hash}`);
  await answers(page, 1);
  return page;
}

const answered = (page) => page.evaluate(() => Number(document.documentElement.dataset.answers ?? 0));
const answers = (page, count) => page.waitForFunction((wanted) => Number(document.documentElement.dataset.answers) >= wanted, count, { timeout: 60_000 });
const settled = (page) => page.waitForFunction(() => !document.body.classList.contains("busy"), null, { timeout: 60_000 });

/// Does something that changes the fields, and waits until no newer ones are under way.
async function change(page, action) {
  const before = await answered(page);
  await action();
  await answers(page, before + 1);
  await settled(page);
}

/// How long it takes from a press on u to both fields on the screen, by the page's own clock: five times, the last two
/// presses removing what others placed.
function clickToFields(page) {
  return page.evaluate(async () => {
    const canvas = document.querySelector("#row-u .measured canvas");
    const { left, top } = canvas.getBoundingClientRect();
    const count = () => document.documentElement.dataset.fields;
    const times = [];
    for (const x of [31, 97, 163, 97, 163]) {
      const [begin, before] = [performance.now(), count()];
      for (const kind of ["pointerdown", "pointerup"]) {
        canvas.dispatchEvent(new PointerEvent(kind, { clientX: left + x, clientY: top + 71, pointerId: 1, bubbles: true }));
      }
      while (count() === before) await new Promise((later) => setTimeout(later, 4));
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      times.push(performance.now() - begin);
      // The next press is to find the worker idle.
      while (document.body.classList.contains("busy")) await new Promise((later) => setTimeout(later, 4));
    }
    return times;
  });
}

/// What `Save` gives.
async function saved(page, what) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.selectOption("#save", what)]);
  return readFileSync(await download.path());
}

/// The fields on the screen are the program's for the sensors on the screen. Gives the sensors.
async function compareWithProgram(page, pde, recoverWith = recoverNatively, most = 1e-5) {
  const sensors = (await saved(page, "sensors")).toString();
  const reference = recoverWith(pde, sensors);
  for (const channel of ["a", "u"]) {
    const apart = difference(fieldOf(await saved(page, channel)), reference[channel]);
    assert.ok(apart <= most, `${pde}: ${channel} is ${apart} from the program's`);
  }
  return sensors.trim().split("\n").length - 1;
}

const canvas = (page, channel) => page.locator(`#row-${channel} .measured canvas`);
const count = async (page, channel) => parseInt((await page.textContent(`#row-${channel} .measured strong`)).replace(",", ""), 10);
const screenshot = (page, name) => pictures && page.screenshot({ path: join(pictures, `${name}.png`) });

async function onADesktop() {
  const page = await open("poisson/1", { width: 1280, height: 800 });
  assert.equal(await count(page, "u"), 500);
  assert.equal(await compareWithProgram(page, "poisson"), 500);
  await screenshot(page, "desktop");

  console.log(`from a click to both fields: ${(await clickToFields(page)).map(Math.round).join(", ")} ms`);
  await change(page, () => canvas(page, "a").click({ position: { x: 60, y: 80 } }));
  assert.equal(await count(page, "a"), 1, "a click places a sensor");
  await page.click('[data-value="brush"]');
  const box = await canvas(page, "a").boundingBox();
  await change(page, async () => {
    await page.mouse.move(box.x + 40, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + 180, box.y + 150, { steps: 12 });
    await page.mouse.up();
  });
  const brushed = await count(page, "a");
  assert.ok(brushed > 30, `a brush leaves many sensors: ${brushed}`);
  assert.equal(await compareWithProgram(page, "poisson"), (await count(page, "u")) + brushed);
  await page.click('[data-value="point"]');

  await canvas(page, "u").focus();
  const before = await count(page, "u");
  for (let step = 0; step < 5; step++) await page.keyboard.press("Shift+ArrowRight");
  const isSensor = async () => /^u at x 0\.\d\d, y 0\.\d\d: (a|no) sensor/.exec(await page.textContent("#place"))[1] === "a";
  const there = await isSensor();
  await change(page, () => page.keyboard.press("Enter"));
  assert.equal(Math.abs((await count(page, "u")) - before), 1, "Enter places or removes a sensor");
  assert.equal(await isSensor(), !there, "and says so");

  await exact(page);
  await linear(page);
  await change(page, () => page.click('[data-value="network"]'));
  await measured(page);
  await page.locator("#truth").fill("0");
  assert.equal(await page.textContent("#truth-shown"), "hidden");
  await page.click('[data-value="band"]');
  await screenshot(page, "truth-hidden");
  await files(page);
  await page.close();
}

/// While an exact posterior is computed the network's fields are shown, and the newest sensors win: what was begun for
/// older ones never comes.
async function exact(page) {
  const begun = () => page.waitForFunction(() => /^Computing the exact posterior: /.test(document.querySelector("#status").textContent), null, { timeout: 60_000 });
  await page.click('[data-value="band"]');
  await settled(page);
  const before = await answered(page);
  await page.click('[data-value="exact"]');
  await begun();
  assert.match(await page.textContent("#statement"), /network, this record/);
  await page.click("#again");
  await answers(page, before + 2);
  await begun();
  assert.equal(await answered(page), before + 2, "only the network has answered, for both sets of sensors");
  await settled(page);
  assert.equal(await answered(page), before + 3, "the exact posterior of the newest sensors alone");
  assert.match(await page.textContent("#statement"), /exact posterior, this record/);
  assert.match(await page.textContent("#heads .third"), /standard deviation/);
  assert.match(await page.textContent("#statement"), /one standard deviation lie 68% of all pixels, on average over fields; here, \d+% of a/);
  await compareWithProgram(page, "poisson", recoverExactly, 1e-4);
  await screenshot(page, "exact");
  await page.click("#again");
  await begun();
  await change(page, () => page.click('[data-value="network"]'));
  assert.doesNotMatch(await page.textContent("#statement"), /exact posterior/, "another method is not kept waiting");
  await page.click('[data-value="off"]');
}

/// The linear method is fitted once, while the network answers, and then answers itself, with error bands where they are
/// looked at.
async function linear(page) {
  const begin = performance.now();
  await page.click('[data-value="linear"]');
  await page.waitForFunction(() => /linear fit, this record/.test(document.querySelector("#statement").textContent), null, { timeout: 120_000 });
  console.log(`the linear method after ${((performance.now() - begin) / 1000).toFixed(1)} s: ${await page.textContent("#statement .note")}`);
  await settled(page);
  await change(page, () => page.click('[data-value="band"]'));
  assert.match(await page.textContent("#heads .third"), /error band/);
  assert.match(await page.textContent("#row-u .third"), /holds 68%/);
  assert.match(await page.textContent("#statement"), /Within its band lie 68% of all pixels, on average over fields; here, \d+% of a and \d+% of u/);
  assert.doesNotMatch(await page.textContent("#statement"), /deviation/, "of two measures of spread the one on the screen is spoken of");
  await screenshot(page, "linear");
  await change(page, () => page.click("#again"));
  assert.match(await page.textContent("#statement"), /linear fit, this record/, "it is fitted once");
  await page.click('[data-value="off"]');
}

/// For few sensors the card has no bands: they are measured on the spot, as the program does, and given up for newer
/// sensors.
async function measured(page) {
  const measure = "#statement button";
  await change(page, () => page.locator("#count").fill("3"));
  assert.equal(await count(page, "u"), 10);
  assert.match(await page.textContent("#warnings"), /with 500 sensors of u, in clusters, the nearest condition/);
  const before = await answered(page);
  await page.click(measure);
  await answers(page, before + 2);
  await settled(page);
  assert.match(await page.textContent("#statement"), /mean over 100 fresh records seen by these very sensors.*here, \d+% of a and \d+% of u/s);
  assert.equal(await page.locator(measure).count(), 0);
  assert.doesNotMatch(await page.textContent("#status"), /warning/, "readings of a record are known to be exact");
  await screenshot(page, "measured");
  const reference = recoverNatively("poisson", (await saved(page, "sensors")).toString(), undefined, ["--calibrate", "100", "--noise", "0"]);
  const table = (await saved(page, "csv")).toString().trim().split("\n").map((line) => line.split(","));
  for (const name of ["a_band68", "u_band95"]) {
    const apart = difference(Float32Array.from(table.slice(1), (row) => row[table[0].indexOf(name)]), reference[name]);
    assert.ok(apart <= 1e-3, `${name} is ${apart} from the program's`);
  }
  await change(page, () => page.locator("#count").fill("4"));
  await page.click(measure);
  await page.waitForFunction(() => /^Measuring/.test(document.querySelector("#status").textContent));
  await change(page, () => page.locator("#count").fill("9"));
  assert.match(await page.textContent("#status"), /^500 sensors/, "newer sensors are not kept waiting");
}

/// A file that is refused changes nothing of what is shown, and its sentence names it.
async function refuses(page, name, text, sentence) {
  const shown = () => page.evaluate(() => [document.querySelector("#statement").innerHTML, [...document.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL())]);
  const before = await shown();
  await page.setInputFiles("#file", { name, mimeType: "text/csv", buffer: Buffer.from(text) });
  await page.waitForSelector("#refused:not([hidden])");
  assert.match(await page.textContent("#refused"), sentence);
  assert.deepEqual(await shown(), before, "what was shown stays");
}

async function files(page) {
  const file = (name, text) => ({ name, mimeType: "text/csv", buffer: Buffer.from(text) });
  await refuses(page, "bad.csv", "x,y,u\n0.5,0.5,0.001\n0.25,oops,0.002\n", /bad\.csv.*line 3/s);
  await screenshot(page, "bad-file");
  await page.click("#refused button");
  await refuses(page, "metres.csv", "x,y,u\n0.5,0.5,0.001\n250,130,0.002\n", /metres\.csv, line 3.*outside/s);
  const lines = Array.from({ length: 64 }, (_, k) => `${(k % 8) / 7},${Math.floor(k / 8) / 7},${0.004 * Math.sin((3 * (k % 8)) / 7) * Math.sin((3 * Math.floor(k / 8)) / 7)}`);
  await change(page, () => page.setInputFiles("#file", file("mine.csv", `x,y,u\n${lines.join("\n")}\n`)));
  assert.equal(await count(page, "u"), 64);
  assert.equal(await compareWithProgram(page, "poisson"), 64);
  assert.match(await page.textContent("#status"), /[1-9] warnings?$/, "these readings are no field of the problem's");
  assert.match(await page.textContent("#statement"), /No error bands, for a reason below/, "a reason is told once");
  await page.click("#status a");
  assert.match(await page.evaluate(() => document.activeElement.id + location.hash), /^warnings#poisson/);
  await screenshot(page, "own-file");
  assert.match((await saved(page, "csv")).toString(), /^x,y,a,u/);
  const picture = await saved(page, "picture");
  assert.equal(picture.subarray(1, 4).toString(), "PNG");
  if (pictures) writeFileSync(join(pictures, "saved.png"), picture);
  assert.equal(JSON.parse((await saved(page, "summary")).toString()).pde, "poisson");
}

/// An exact posterior that these sensors do not have is refused, and the network's fields stay.
async function refusesExact(page) {
  await page.click('[data-value="exact"]');
  await page.waitForSelector("#refused:not([hidden])");
  await settled(page);
  assert.match(await page.textContent("#status"), /both fields in/);
  assert.match(await page.textContent("#statement"), /network, this record/);
  console.log(`an exact posterior is refused: ${await page.textContent("#refused")}`);
  await change(page, () => page.click('[data-value="network"]'));
}

async function everyProblem() {
  const page = await open("darcy/0", { width: 1440, height: 900 }, "dark");
  for (const pde of ["darcy", "helmholtz", "ns", "cylinder", "poisson"]) {
    await change(page, () => page.click(`[data-value="${pde}"]`));
    await change(page, () => page.click('[data-value="both"]'));
    if (pde !== "cylinder") await compareWithProgram(page, pde);
    assert.equal(await page.locator('[data-value="linear"]').isDisabled(), pde === "cylinder", pde);
    assert.equal(await page.locator("#method-note").isVisible(), pde === "cylinder", pde);
    await screenshot(page, pde);
    if (pde === "ns") await refusesExact(page);
  }
  for (const family of ["grid", "cluster", "lines", "block", "uniform"]) {
    await change(page, () => page.selectOption("#family", family));
    assert.ok((await count(page, "a")) > 0 && (await count(page, "u")) > 0, family);
  }
  await change(page, () => page.locator("#count").fill("0"));
  assert.equal(await count(page, "u"), 1);
  for (const [text, fits] of await page.$$eval("figcaption", (all) => all.map((one) => [one.textContent, one.scrollWidth <= one.clientWidth]))) {
    assert.ok(fits && !/e\+/.test(text), `a caption is too wide or hard to read: ${text}`);
  }
  await page.click("#clear");
  assert.match(await page.textContent("#status"), /Nothing is measured/);
  await page.close();
}

/// Opened as a file the page says what to do instead, and without a model of a problem it does not offer the problem.
async function elsewhere() {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(join(repository, "crates/scope-serve/page/index.html")).href);
  assert.match(await page.textContent("#refused"), /scope serve/);
  await page.route(/models\/(darcy|poisson)\.toml/, (route) => route.fulfill({ status: 404 }));
  await page.goto(`${address}/#poisson/0`);
  await answers(page, 1);
  assert.deepEqual(await page.$$eval("#problems button", (all) => all.map((one) => one.dataset.value)), ["helmholtz", "ns", "cylinder"]);
  assert.equal(await page.title(), "SCOPE: Helmholtz");
  await page.route(/models\/ns\.safetensors/, (route) => route.abort());
  await page.click('[data-value="ns"]');
  await page.waitForSelector("#refused:not([hidden])");
  assert.match(await page.textContent("#refused"), /models\/ns\.safetensors could not be loaded: the server cannot be reached/);
  await page.close();
}

async function onAPhone() {
  const page = await open("darcy/1", { width: 390, height: 844 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the screen");
  await change(page, () => canvas(page, "u").click({ position: { x: 60, y: 80 } }));
  const low = await page.$$eval("button, select, label.button", (all) => all.filter((one) => one.offsetParent && one.getBoundingClientRect().height < 44).map((one) => one.outerHTML));
  assert.deepEqual(low, [], "all that is touched is as high as a finger is wide");
  await page.locator("#truth").fill("0");
  await page.evaluate(() => scrollTo(0, 0));
  await screenshot(page, "phone");
  await compareWithProgram(page, "darcy");
  await page.click('[data-value="off"]');
  await screenshot(page, "phone-off");
  await page.close();
}

/// Nothing is wider than any screen, and beside the fields the controls have room for a choice in one line.
async function atEveryWidth() {
  const page = await open("ns/0", { width: 1920, height: 1080 });
  for (const [width, height] of [[1920, 1080], [1366, 768], [1280, 1024], [1101, 900], [721, 900], [320, 640]]) {
    await page.setViewportSize({ width, height });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `something is wider than ${width} pixels`);
    if (width > 720) assert.ok((await page.locator("#methods").boundingBox()).height < 40, `the methods break at ${width} pixels`);
  }
  await page.close();
}

try {
  await onADesktop();
  await onAPhone();
  await atEveryWidth();
  await everyProblem();
  await elsewhere();
  console.log("the page does what the program does");
} finally {
  await browser.close();
}
