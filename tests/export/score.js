// Rows through an ONNX model. usage: node score.js MODEL.onnx INPUTS.json [PREVALENCE,...] > OUTPUT.csv
// INPUTS.json: {"name": [cells]}, null where missing, or "images": {"dims": [...], "data": [...]}. PREVAIL_WEB: by
// onnxruntime-web.
const fs = require('fs');
const ort = require(process.env.PREVAIL_WEB ? 'onnxruntime-web' : 'onnxruntime-node');

async function main() {
    const [path, cells, given] = process.argv.slice(2);
    const session = await ort.InferenceSession.create(process.env.PREVAIL_WEB ? new Uint8Array(fs.readFileSync(path)) : path);
    const rows = JSON.parse(fs.readFileSync(cells, 'utf8'));
    const types = new Map((session.inputMetadata || []).map((input) => [input.name, input.type]));
    const feeds = {};
    for (const name of session.inputNames) {
        const column = rows[name];
        if (given && name.startsWith('prevalence') && !column) {
            const p = given.split(',').map(Number);
            feeds[name] = new ort.Tensor('float64', Float64Array.from(p), [p.length]);
        } else if (column.dims) {
            feeds[name] = new ort.Tensor('float32', Float32Array.from(column.data), column.dims);
        } else if ((types.get(name) || (column.some((c) => typeof c === 'string') ? 'string' : 'float64')) === 'string') {
            feeds[name] = new ort.Tensor('string', column.map((c) => (c === null ? '' : String(c))), [column.length, 1]);
        } else {
            feeds[name] = new ort.Tensor('float64', Float64Array.from(column, (c) => (c === null ? NaN : Number(c))), [column.length, 1]);
        }
    }
    const out = await session.run(feeds);
    const [p, label] = session.outputNames.map((name) => out[name]);
    const k = p.dims[1];
    const lines = [];
    for (let i = 0; i < p.dims[0]; i++)
        lines.push([...p.data.slice(i * k, (i + 1) * k)].map(String).concat(JSON.stringify(label.data[i])).join(','));
    process.stdout.write(lines.join('\n') + '\n');
}
main().catch((error) => { console.error(String(error)); process.exit(1); });
