// The site in a real browser, opened from disk: search finds, the start page fits, nothing comes from elsewhere, and no page is wider than the
// window. usage: node site.test.js SITE BROWSER
"use strict";
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { chromium } = require("playwright-core");

const [site, executablePath] = process.argv.slice(2);
const pages = ["index", "guides/case-control", "guides/decisions", "coming-from/glm", "validation", "method", "designs",
    "reference/command-fit", "reference/python", "reference/r", "reference/c", "reference/c-predict", "reference/faq"];

async function main() {
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    const page = await browser.newPage();
    const problems = [];
    let passed = 0;
    page.on("request", (request) => {
        if (!/^(file|data|blob):/.test(request.url()))
            problems.push(`${page.url()} asks for ${request.url()}`);
    });
    page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.message}`));
    for (const name of pages)
        for (const width of [360, 1400]) {
            await page.setViewportSize({ width, height: 900 });
            await page.goto(pathToFileURL(path.join(site, `${name}.html`)).href);
            const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            assert.ok(beyond <= 0, `${name} is ${beyond} pixels wider than a window of ${width}`);
            const broken = await page.evaluate(() => [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src));
            assert.deepStrictEqual(broken, [], `pictures of ${name}`);
            passed++;
        }
    await page.goto(pathToFileURL(path.join(site, "reference/faq.html")).href);
    await page.fill(".md-search__input", "undersampled");
    await page.waitForSelector(".md-search-result__item a[href*='guides/undersampled.html']", { timeout: 60000 });
    passed++;
    await page.goto(pathToFileURL(path.join(site, "index.html")).href);
    if (fs.existsSync(path.join(site, "assets/engine.js"))) { // tests/js compares what it prints
        await page.click("#live button");
        await page.waitForSelector("#live pre:not([hidden])", { timeout: 60000 });
        assert.match(await page.textContent("#live pre"), /^\$ prevail fit builtin:esoph [^]*\(Intercept\)[^]*converged/);
    } else {
        assert.match(await page.textContent("article"), /made without the engine/);
        assert.strictEqual(await page.locator("#live").count(), 0);
    }
    passed++;
    await browser.close();
    assert.deepStrictEqual(problems, []);
    console.log(`${passed} passed, 0 failed`);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
