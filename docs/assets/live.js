/* The fit on the start page: shows what the command prints, by the engine for JavaScript in a worker. The engine is fetched when it is
   first used (js/site.js). */
(() => {
    const form = document.getElementById("live");
    const { data, outcome, prevalence, fit } = form.elements;
    const status = form.querySelector("output"), printed = form.querySelector("pre");
    let worker;

    const start = () => worker ??= new Promise((resolve, reject) => {
        const script = document.createElement("script");
        window.siteEngine = (text) => resolve(new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" }))));
        script.onerror = () => reject(new Error("The engine could not be loaded."));
        script.src = form.dataset.engine;
        document.head.append(script);
    });
    const run = async (words, csv) => {
        const engine = await start();
        return new Promise((resolve, reject) => {
            engine.onmessage = ({ data }) => resolve(data);
            engine.onerror = (problem) => reject(new Error(problem.message || "The engine does not run in this browser."));
            engine.postMessage({ words, csv });
        });
    };

    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        const own = data.value.trim() !== "";
        const words = ["fit", own ? "data.csv" : "builtin:esoph", "--outcome", outcome.value, ...(own ? [] : ["--weights", "count"]),
            "--prevalence", prevalence.value];
        const quoted = words.map((word) => /^[\w.,:=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
        fit.disabled = true;
        printed.hidden = true;
        status.textContent = "The model is being fitted.";
        try {
            const { code, out, err } = await run(words, own ? `${data.value.trim()}\n` : "");
            printed.textContent = `$ prevail ${quoted.join(" ")}\n${err}${out}`;
            printed.hidden = false;
            status.textContent = out ? "This is what the command prints." : `The command ends with exit code ${code}.`;
        } catch (problem) {
            status.textContent = problem.message;
        }
        fit.disabled = false;
    });
    fit.disabled = false;
})();
