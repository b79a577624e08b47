/* Search on pages opened from disk. Browsers read neither JSON nor a worker's script from file: addresses, so scripts/site
 * writes both as scripts as well (search/index.js, search/worker.js). Pages that come from a server are left alone.
 */
(function () {
    if (location.protocol !== "file:")
        return;
    const address = (name) => new URL("../search/" + name, here).href;
    const here = document.currentScript.src;
    __search = {
        index: new Promise((done) => {
            addEventListener("load", () => {
                const script = document.createElement("script");
                script.src = address("index.js");
                script.onload = () => done(siteSearchIndex);
                document.head.append(script);
            });
        })
    };
    /* The theme's script needs the worker at once: worker.js sets __search.worker. */
    document.write('<script src="' + address("worker.js") + '"><' + "/script>");
})();
